package tui

import (
	"log/slog"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/tui/keys"
	"opprof/tui/theme"
)

const (
	tickEvery   = 250 * time.Millisecond // how often a picture is pulled
	noticeTicks = 12                     // how many ticks a message stays in the footer
	framesPerS  = 15                     // how often the terminal is written at most
)

// SyncOutput says whether frames are bracketed by the terminal's synchronized output mode, which keeps half-drawn pictures off the
// screen.
type SyncOutput uint8

const (
	SyncAuto SyncOutput = iota // ask the terminal, also over SSH
	SyncOn                     // use it without asking
	SyncOff
)

// Options are the user's wishes and the outside world. The zero value is a program on the process's own terminal.
type Options struct {
	Theme    theme.Prefs
	Env      func(string) string // nil is os.Getenv
	Keys     *keys.Set           // nil is keys.Default()
	Zone     *time.Location      // of clock times; nil is the local zone
	SpanNS   int64               // first width of the time axis; 0 is a minute when live, the whole run when that is short
	Sync     SyncOutput
	Every    time.Duration // between two pictures; 0 is a quarter of a second
	NoMouse  bool          // leave the mouse to the terminal at first
	State    State         // what was chosen the last time
	Keep     func(State)   // takes what was chosen this time, when the program has ended; may be nil
	Farewell func() string // the lines that stay on the terminal when the screen has been left; may be nil
	Note     string        // shown at first in the footer
	Control  Controller    // gives orders to the run's supervisor; nil when there is none
	ReadOnly bool          // its orders would be refused
	Open     Opener        // opens what is chosen on a list of runs; nil opens nothing
	Log      *slog.Logger  // what went wrong, and when; nil is nowhere. Nothing is ever written to the screen

	Now  func() time.Time                                             // nil is time.Now
	Tick func(d time.Duration, msg func(t time.Time) tea.Msg) tea.Cmd // nil is tea.Tick
	Tea  []tea.ProgramOption                                          // appended to Run's own

	behind func() bool // whether the terminal does not keep up with what is drawn
}

// filled returns the options with every default in place.
func (o Options) filled() Options {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Keys == nil {
		o.Keys = keys.Default()
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.behind == nil {
		o.behind = func() bool { return false }
	}
	if o.Tick == nil {
		every := o.Every
		o.Tick = func(d time.Duration, msg func(time.Time) tea.Msg) tea.Cmd {
			if every > 0 {
				d = every
			}
			return tea.Tick(d, msg)
		}
	}
	return o
}
