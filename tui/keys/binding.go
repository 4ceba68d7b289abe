// Package keys is the table of all keys: one record per action, from which the program matches, and from which the footer, the help and the
// README's table are made. A key that does nothing at the moment says why.
package keys

import (
	"slices"
	"strings"
)

// ID names an action.
type ID string

// Context is a place where keys are read. The records of a context are tried before those of ContextAny.
type Context string

// Contexts.
const (
	ContextAny     Context = "any"     // every page
	ContextCharts  Context = "charts"  // pages whose panels share a time axis: live and review
	ContextList    Context = "list"    // a list or text that scrolls
	ContextText    Context = "text"    // a text that scrolls and has nothing to open
	ContextLog     Context = "log"     // the server's log
	ContextWindows Context = "windows" // the profiler windows
	ContextServer  Context = "server"  // the server page
	ContextExperts Context = "experts" // the routed experts
	ContextCost    Context = "cost"    // what a step costs
	ContextHelp    Context = "help"    // the help overlay

	ContextCampaign Context = "campaign" // how a campaign stands
	ContextRuns     Context = "runs"     // a folder's runs

	// Contexts that take all keys: what is no binding of theirs is text, or nothing.
	ContextDialog   Context = "dialog"   // an input line
	ContextForm     Context = "form"     // a form with fields
	ContextQuestion Context = "question" // a question that is answered with yes or no
	ContextColumns  Context = "columns"  // a choice of columns
	ContextSearch   Context = "search"   // the expression that steps are searched by
	ContextNotes    Context = "notes"    // the list of bookmarks and notes
)

// takesAll reports whether keys of every page are not read there.
func (c Context) takesAll() bool {
	return c == ContextDialog || c == ContextForm || c == ContextQuestion || c == ContextColumns || c == ContextSearch || c == ContextNotes
}

// Group is a heading of the help.
type Group string

// Groups, in the order of the help.
const (
	GroupProgram Group = "program"
	GroupPages   Group = "pages"
	GroupPanels  Group = "panels"
	GroupTime    Group = "time"
	GroupJumps   Group = "jumps"
	GroupReview  Group = "search and bookmarks"
	GroupLists   Group = "lists"
	GroupLog     Group = "server log"
	GroupWindows Group = "profiler windows"
	GroupExperts Group = "routed experts"
	GroupCost    Group = "cost of a step"
	GroupServer  Group = "server"
	GroupDialogs Group = "questions and forms"

	GroupCampaign Group = "campaign"
	GroupRuns     Group = "runs"
)

// Groups returns the groups in the order of the help.
func Groups() []Group {
	return []Group{GroupProgram, GroupPages, GroupPanels, GroupTime, GroupJumps, GroupReview, GroupLists, GroupLog, GroupWindows, GroupExperts, GroupCost, GroupServer, GroupCampaign, GroupRuns, GroupDialogs}
}

// Need is what an action needs from the moment. Bits may be combined.
type Need uint16

// Needs.
const (
	NeedSteps      Need = 1 << iota // at least one step was read
	NeedLive                        // the run is followed live
	NeedPast                        // the picture is not at the newest step: frozen, panned or a finished run
	NeedEngines                     // the run has more than one engine
	NeedControl                     // a supervisor that may be given orders
	NeedTraces                      // the run has profiler traces
	NeedWarnings                    // there is a warning
	NeedRanks                       // the selected window has more than one rank
	NeedTriggers                    // the supervisor arms windows on conditions
	NeedOrders                      // this client may give orders
	NeedArmed                       // the selected window is armed
	NeedSupervisor                  // the run has a supervisor
	NeedServer                      // the server runs
	NeedOwned                       // opprof has started the server
	NeedRunner                      // a runner works on the campaign

	numNeeds = iota
)

// reason says in a few words why an action is off when a need is not met.
func (n Need) reason() string {
	switch n {
	case NeedSteps:
		return "no step was read yet"
	case NeedLive:
		return "the run is finished"
	case NeedPast:
		return "the picture is live already"
	case NeedEngines:
		return "the run has one engine"
	case NeedControl:
		return "no supervisor: this run is only watched"
	case NeedTraces:
		return "the run has no traces"
	case NeedWarnings:
		return "nothing to warn of"
	case NeedTriggers:
		return "only a supervised server can be armed on a condition"
	case NeedOrders:
		return "this screen only watches: attach without --readonly to give orders"
	case NeedArmed:
		return "only a window that has not started can be taken back"
	case NeedSupervisor:
		return "no supervisor: opprof did not launch this run"
	case NeedServer:
		return "the server does not run, or stops already"
	case NeedRunner:
		return "no runner works on the campaign"
	case NeedOwned:
		return "opprof did not start this server: whoever started it stops it"
	case NeedRanks:
		return "the window has one rank"
	}
	return ""
}

// Binding is one action and its keys, written as Bubble Tea prints key presses ("q", "space", "shift+tab").
type Binding struct {
	ID       ID
	Keys     []string
	Show     string // keys as the footer and the help print them; "" joins Keys
	Help     string // two or three words for the footer
	Long     string // a sentence for the help
	Group    Group
	Contexts []Context
	Needs    Need
	Footer   int // place in the footer, 1 first; 0 is not in the footer
}

// Label returns the keys as a reader sees them.
func (b Binding) Label() string {
	if b.Show != "" {
		return b.Show
	}
	return strings.Join(b.Keys, " ")
}

// Missing returns why the action is off when the moment provides have, or "" when it is on.
func (b Binding) Missing(have Need) string {
	for i := range numNeeds {
		if n := Need(1 << i); b.Needs&n != 0 && have&n == 0 {
			return n.reason()
		}
	}
	return ""
}

// In reports whether the action is read in context c.
func (b Binding) In(c Context) bool {
	if slices.Contains(b.Contexts, c) {
		return true
	}
	return !c.takesAll() && slices.Contains(b.Contexts, ContextAny)
}
