package compact

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowPriority is the niceness of a process that compresses: serving comes first, on the processor and, as the kernel derives one from the other,
// on the disk.
const lowPriority = 19

// Yield gives every thread of this process the lowest priority, and with it those that come later. It cannot be taken back.
func Yield() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, lowPriority)
		}
	}
}
