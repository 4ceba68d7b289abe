package cmd

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := &table{left: []int{1, 4}}
	table.row("run", "state", "tp", "windows", "written")
	table.row("20261130-model", "ready", "2", "16", "today")
	table.row()
	table.row("r", "stopped: ordered", "-", "1", "long ago")
	table.row("ünd", "x", "10")
	var b strings.Builder
	if err := table.write(&b); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"run             state             tp  windows  written",
		"20261130-model  ready              2       16  today",
		"",
		"r               stopped: ordered   -        1  long ago",
		"ünd             x                 10",
		"",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
