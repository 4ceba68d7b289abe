package supervisor

import (
	"regexp"
	"strings"

	"opprof/engine/vllm"
)

// causes picks the lines of a server's log that say why it ended. They stand in the middle: behind them the other processes report, each
// with a traceback of its own, that the first one has gone.
type causes struct {
	kept []cause
	line int64
	from int64 // candidates before this line were overcome
}

type cause struct {
	line    int64
	text    string
	process string
	rank    causeRank
}

// causeRank orders what a process may say about the end: the better one counts, wherever it stands.
type causeRank uint8

const (
	ownCause  causeRank = iota // a process about itself
	deathSeen                  // a process about another one that went without a word
	echo                       // a process about another one that it needed
	causeRanks
)

var (
	// exceptionLine is the last line of a Python traceback, or an argument parser's complaint.
	exceptionLine = regexp.MustCompile(`^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure)\b(?::|$)|^\S+: error: |^Fatal Python error`)
	echoLine      = regexp.MustCompile(`root cause|EngineDeadError|Engine core (?:proc )?.*(?:initialization failed|died)|WorkerProc initialization failed|Failed core proc|cancelled|died unexpectedly|[Cc]onnection (?:closed|reset) by peer|Broken pipe`)
	// deathLine is an executor's word about a worker (vllm/v1/executor/multiproc_executor.py, ray_executor_v2.py).
	deathLine = regexp.MustCompile(`^(?:Worker proc|RayWorkerProc) .*died unexpectedly`)
	// plainCause is said without an exception: by the system, the driver, or vLLM's own last words.
	plainCause = regexp.MustCompile(`(?i)out of memory|no space left on device|address already in use|segmentation fault|core dumped|killed`)
)

const (
	maxCauses     = 64
	maxCauseBytes = 400
	// causeReach is how far before the end of the log a cause may lie.
	causeReach = 2000
)

// add takes the next line of the log.
func (c *causes) add(l vllm.LogLine) {
	c.line++
	text := strings.TrimSpace(l.Message)
	death := deathLine.MatchString(text)
	if !death && !exceptionLine.MatchString(text) && !(plainCause.MatchString(text) && (l.Level == vllm.LevelNone || l.Level >= vllm.LevelError)) {
		return
	}
	if l.Level == vllm.LevelDebug || l.Level == vllm.LevelInfo || l.Level == vllm.LevelWarning {
		return
	}
	if len(text) > maxCauseBytes {
		text = text[:maxCauseBytes] + "…"
	}
	if len(c.kept) == maxCauses {
		c.kept = append(c.kept[:maxCauses/2], c.kept[maxCauses/2+1:]...)
	}
	rank := ownCause
	switch {
	case death:
		rank = deathSeen
	case echoLine.MatchString(text):
		rank = echo
	}
	c.kept = append(c.kept, cause{line: c.line, text: text, process: l.Process, rank: rank})
}

// passed says that the server got further: what was complained about before did not end it.
func (c *causes) passed() { c.from = c.line }

// silentDeath is what is left to say when every process only reports the end of another one.
const silentDeath = "no process said why: one was killed from outside, or by the kernel for lack of memory (dmesg tells)"

// say names the cause: the first complaint of the best rank. Where no process complained about itself, it says so too. "" is none.
func (c *causes) say() string {
	from := max(c.from, c.line-causeReach)
	var first [causeRanks]string
	for _, k := range c.kept {
		if k.line < from || first[k.rank] != "" {
			continue
		}
		first[k.rank] = k.text
		if k.process != "" {
			first[k.rank] = k.process + ": " + k.text
		}
	}
	for rank, text := range first {
		switch {
		case text == "":
		case causeRank(rank) == ownCause:
			return text
		default:
			return text + "; " + silentDeath
		}
	}
	return ""
}
