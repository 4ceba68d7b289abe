package keys_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/keys"
)

func contexts() []keys.Context {
	return []keys.Context{keys.ContextAny, keys.ContextCharts, keys.ContextList, keys.ContextLog, keys.ContextText, keys.ContextWindows, keys.ContextServer, keys.ContextExperts, keys.ContextCost, keys.ContextCampaign, keys.ContextDialog, keys.ContextForm,
		keys.ContextQuestion, keys.ContextHelp, keys.ContextRuns, keys.ContextColumns, keys.ContextSearch, keys.ContextNotes}
}

func TestEveryBindingIsComplete(t *testing.T) {
	for _, b := range keys.Default().All() {
		if b.ID == "" || len(b.Keys) == 0 || b.Help == "" || b.Long == "" || len(b.Contexts) == 0 {
			t.Errorf("%+v lacks something", b)
		}
		if !slices.Contains(keys.Groups(), b.Group) {
			t.Errorf("%s: group %q is not in the help", b.ID, b.Group)
		}
		for _, c := range b.Contexts {
			if !slices.Contains(contexts(), c) {
				t.Errorf("%s: context %q does not exist", b.ID, c)
			}
		}
		if strings.HasSuffix(b.Long, ".") || unicode.IsUpper([]rune(b.Help)[0]) {
			t.Errorf("%s: %q and %q are no fragments like the others", b.ID, b.Help, b.Long)
		}
	}
}

// In no context has a key two meanings.
func TestKeysAreUnambiguous(t *testing.T) {
	set := keys.Default()
	for _, c := range contexts() {
		owner := map[string]keys.ID{}
		for _, b := range set.All() {
			if !b.In(c) {
				continue
			}
			for _, k := range b.Keys {
				if other, ok := owner[k]; ok {
					t.Errorf("%s: %q is %s and %s", c, k, other, b.ID)
				}
				owner[k] = b.ID
				if got, ok := set.Match(c, k); !ok || got.ID != b.ID {
					t.Errorf("%s: %q matches %q, want %s", c, k, got.ID, b.ID)
				}
			}
		}
	}
}

// press is the key press that Bubble Tea reports for a key of the table.
func press(key string) tea.KeyPressMsg {
	named := map[string]rune{
		"space": tea.KeySpace, "tab": tea.KeyTab, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "f1": tea.KeyF1,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	}
	var msg tea.KeyPressMsg
	if rest, ok := strings.CutPrefix(key, "ctrl+"); ok {
		msg.Mod, key = tea.ModCtrl, rest
	}
	if rest, ok := strings.CutPrefix(key, "shift+"); ok {
		msg.Mod, key = tea.ModShift, rest
	}
	if code, ok := named[key]; ok {
		msg.Code = code
		if key == "space" {
			msg.Text = " "
		}
		return msg
	}
	r := []rune(key)
	if len(r) != 1 {
		return msg
	}
	msg.Code = unicode.ToLower(r[0])
	if msg.Mod == 0 {
		msg.Text = key
	}
	if unicode.IsUpper(r[0]) {
		msg.Mod = tea.ModShift
	}
	return msg
}

func TestKeysAreWrittenAsBubbleTeaPrintsThem(t *testing.T) {
	for _, b := range keys.Default().All() {
		for _, k := range b.Keys {
			if got := press(k).String(); got != k {
				t.Errorf("%s: %q is printed %q", b.ID, k, got)
			}
		}
	}
}

func TestDialogsReadOnlyTheirOwnKeys(t *testing.T) {
	set := keys.Default()
	for _, c := range []keys.Context{keys.ContextDialog, keys.ContextForm, keys.ContextQuestion} {
		for _, k := range []string{"?", "1", "t", "space", "/", "w"} {
			if b, ok := set.Match(c, k); ok {
				t.Errorf("%s: %q is %s while keys are text or an answer", c, k, b.ID)
			}
		}
		for _, k := range []string{"esc", "enter", "ctrl+c", "ctrl+z"} {
			if _, ok := set.Match(c, k); !ok {
				t.Errorf("%s: %q does nothing", c, k)
			}
		}
	}
	if b, ok := set.Match(keys.ContextDialog, "q"); ok {
		t.Errorf("q is %s while a line is being typed", b.ID)
	}
	if b, ok := set.Match(keys.ContextCharts, "no such key"); ok {
		t.Errorf("an unknown key is %s", b.ID)
	}
}

func TestMissingSaysWhy(t *testing.T) {
	set := keys.Default()
	reason := func(id keys.ID, have keys.Need) string {
		b, ok := set.ByID(id)
		if !ok {
			t.Fatalf("no binding %s", id)
		}
		return b.Missing(have)
	}
	for _, c := range []struct {
		id   keys.ID
		have keys.Need
		want string
	}{
		{keys.Quit, 0, ""},
		{keys.Find, 0, "no step was read yet"},
		{keys.Find, keys.NeedSteps, ""},
		{keys.Live, keys.NeedSteps, "the picture is live already"},
		{keys.Engine, keys.NeedSteps, "the run has one engine"},
		{keys.Arm, keys.NeedControl, "the run is finished"},
		{keys.Arm, keys.NeedLive, "no supervisor: this run is only watched"},
		{keys.Arm, keys.NeedLive | keys.NeedControl, "this screen only watches: attach without --readonly to give orders"},
		{keys.Arm, keys.NeedLive | keys.NeedControl | keys.NeedOrders, "the server does not run, or stops already"},
		{keys.Arm, keys.NeedLive | keys.NeedControl | keys.NeedOrders | keys.NeedServer, ""},
		{keys.CancelWindow, keys.NeedControl | keys.NeedOrders, "only a window that has not started can be taken back"},
		{keys.StopServer, keys.NeedOrders | keys.NeedServer, "no supervisor: opprof did not launch this run"},
	} {
		if got := reason(c.id, c.have); got != c.want {
			t.Errorf("%s with %b: %q, want %q", c.id, c.have, got, c.want)
		}
	}
	for bit := keys.Need(1); bit <= keys.NeedServer; bit <<= 1 {
		if (keys.Binding{Needs: bit}).Missing(^bit) == "" {
			t.Errorf("need %b has no reason", bit)
		}
	}
	if _, ok := set.ByID("no such action"); ok {
		t.Error("an unknown action has a binding")
	}
}

func labels(bindings []keys.Binding) string {
	var out []string
	for _, b := range bindings {
		out = append(out, b.Label()+" "+b.Help)
	}
	return strings.Join(out, ", ")
}

func TestFooter(t *testing.T) {
	set := keys.Default()
	for _, c := range []struct {
		context keys.Context
		have    keys.Need
		want    string
	}{
		{keys.ContextCharts, 0, "e explain, enter maximise, tab next panel, ? all keys, q quit"},
		{keys.ContextCharts, keys.NeedSteps | keys.NeedPast, "end G newest, / find, ^F search, o step, e explain, enter maximise, z zoom, b bookmark, ← earlier, → later, tab next panel, ? all keys, q quit"},
		{keys.ContextList, keys.NeedLive | keys.NeedControl | keys.NeedTriggers | keys.NeedOrders | keys.NeedServer, "w window, W arm on…, / filter, e explain, enter open, tab next panel, j ↓ down, k ↑ up, ? all keys, q quit"},
		{keys.ContextDialog, 0, "enter open"},
		{keys.ContextForm, 0, "enter arm, esc close, tab ↓ next field, ← left"},
		{keys.ContextSearch, 0, "enter search, esc close, tab complete"},
		{keys.ContextNotes, 0, "enter go to, e edit, x delete, u undo, esc close, j ↓ down, k ↑ up"},
		{keys.ContextQuestion, 0, "y yes, n no, tab other answer, enter chosen answer"},
	} {
		if got := labels(set.Footer(c.context, c.have)); got != c.want {
			t.Errorf("%s with %b:\ngot  %s\nwant %s", c.context, c.have, got, c.want)
		}
	}
}

func TestHelpListsEverythingOnceAndFilters(t *testing.T) {
	set := keys.Default()
	n := 0
	for _, s := range set.Help("") {
		n += len(s.Bindings)
	}
	if n != len(set.All()) {
		t.Errorf("help has %d of %d bindings", n, len(set.All()))
	}
	got := set.Help(" PREEMPTION ")
	if len(got) != 1 || got[0].Group != keys.GroupJumps || labels(got[0].Bindings) != "p next preemption, P previous preemption" {
		t.Errorf("filter finds %+v", got)
	}
	if got := set.Help("no such thing"); len(got) != 0 {
		t.Errorf("a filter without a match finds %+v", got)
	}
}

func TestTable(t *testing.T) {
	set := keys.NewSet([]keys.Binding{
		{ID: "a", Keys: []string{"a", "|"}, Long: "first | second", Group: keys.GroupTime},
		{ID: "b", Keys: []string{"ctrl+b"}, Show: "^B", Long: "back", Group: keys.GroupProgram},
	})
	want := "| key | action |\n|---|---|\n| **program** | |\n| `^B` | back |\n| **time** | |\n| `a` `\\|` | first \\| second |\n"
	if got := set.Table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	lines := strings.Count(keys.Default().Table(), "\n")
	if want := 2 + len(keys.Default().Help("")) + len(keys.Default().All()); lines != want {
		t.Errorf("table has %d lines, want %d", lines, want)
	}
}

// The set is nobody's to change.
func TestSetIsACopy(t *testing.T) {
	set := keys.Default()
	set.All()[0].ID = "changed"
	if set.All()[0].ID == "changed" {
		t.Error("All hands out the table itself")
	}
}
