package export

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"opprof/campaign/export/dataset"
)

// killedEnv tells the test's own program to export into a folder and to stop in the middle.
const killedEnv = "OPPROF_TEST_KILLED_EXPORT"

// exportAndHang is the process that is killed: it says when files are being written.
func exportAndHang(dir string) {
	to, err := dataset.Open(dir, Tables()...)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := Source{Run: "r", Path: "/r", Streams: []string{os.Getenv(killedEnv + "_STREAM")}}
	_, _, err = Parquet(context.Background(), to, s, func(done, total int64) {
		if files, _ := filepath.Glob(filepath.Join(dir, "steps", "*", "*", "*", ".part-*")); len(files) > 0 || done == total {
			fmt.Println("writing")
			select {}
		}
	})
	fmt.Println("ended", err)
	os.Exit(1)
}

func TestAKilledExport(t *testing.T) {
	s, dir := run(t, "h200-tp1"), t.TempDir()
	s.Run, s.Path = "r", "/r"
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killedEnv+"="+dir, killedEnv+"_STREAM="+s.Streams[0])
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "writing\n" {
		t.Errorf("the export says %q, %v", said, err)
	}
	if _, err := dataset.Open(dir, Tables()...); err == nil {
		t.Error("a second export into the same folder was let in")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if n := len(read(t, dir, "steps")); n != 0 {
		t.Errorf("a killed export left tables of %d columns", n)
	}
	_, sum := exported(t, dir, s)
	if got := read(t, dir, "steps"); int64(len(got["step_index"])) != sum.Steps || sum.Steps == 0 {
		t.Errorf("exported again: %d steps of %d", len(got["step_index"]), sum.Steps)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", ".part-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
