// Package trap turns a panic into an error that says where it happened, so that the program can put the terminal back before it speaks.
package trap

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// Panic is a panic that was caught. Stack is the trace of its goroutine; Where is the function, file and line that panicked.
type Panic struct {
	Value any
	Where string
	Stack []byte
}

// Error says what and where on one line, without the trace.
func (p *Panic) Error() string { return fmt.Sprintf("internal error in %s: %v", p.Where, p.Value) }

// Unwrap gives the error that the code panicked with; nil when it was something else.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Run returns what work returns, or a *Panic.
func Run(work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{Value: v, Where: where(), Stack: debug.Stack()}
		}
	}()
	return work()
}

// where names the innermost function of the panicking goroutine that is not the runtime's. It is called while the panic unwinds: the
// frames above runtime.gopanic are those of recovering.
func where() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
