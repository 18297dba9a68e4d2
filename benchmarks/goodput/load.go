package goodput

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Load is how busy the machine was while something was measured. Latencies are
// real: on a machine that has no time left they grow, and the figures with them.
type Load struct {
	Known bool    // the system told about its processors; only Linux does
	Busy  float64 // percent of all processors' time that was not idle
	Own   float64 // percent of all processors' time that this process took
	// A timer fired so much too late: one in a hundred, and the worst.
	Late, Latest time.Duration
}

// tooBusy is the share of the processors, in percent, above which a run is not
// to be trusted.
const tooBusy = 60

// ticks are counters of processor time since the start of the system.
type ticks struct {
	all, idle, own float64
	known          bool
}

// readTicks reads them in the format of proc(5).
func readTicks() ticks {
	stat, err1 := os.ReadFile("/proc/stat")
	self, err2 := os.ReadFile("/proc/self/stat")
	if err1 != nil || err2 != nil {
		return ticks{}
	}
	return parseTicks(string(stat), string(self))
}

func parseTicks(stat, self string) (t ticks) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	// The name of the process, in brackets, may hold blanks.
	after := strings.Fields(self[strings.LastIndexByte(self, ')')+1:])
	if len(fields) < 9 || fields[0] != "cpu" || len(after) < 13 {
		return t
	}
	for i, f := range fields[1:9] { // what guests took is in user and nice
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return ticks{}
		}
		t.all += n
		if i == 3 || i == 4 { // idle, iowait
			t.idle += n
		}
	}
	for _, f := range after[11:13] { // utime, stime
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return ticks{}
		}
		t.own += n
	}
	t.known = true
	return t
}

// since is the load between two readings.
func (t ticks) since(before ticks) Load {
	all := t.all - before.all
	if !t.known || !before.known || all <= 0 {
		return Load{}
	}
	return Load{Known: true, Busy: 100 * (1 - (t.idle-before.idle)/all), Own: 100 * (t.own - before.own) / all}
}

// watch measures the load until ctx ends.
func watch(ctx context.Context) Load {
	const every = 20 * time.Millisecond
	before := readTicks()
	var late []time.Duration
	for due := time.Now().Add(every); sleep(ctx, time.Until(due)); due = time.Now().Add(every) {
		late = append(late, time.Since(due))
	}
	load := readTicks().since(before)
	if len(late) > 0 {
		slices.Sort(late)
		load.Late, load.Latest = late[len(late)*99/100], late[len(late)-1]
	}
	return load
}

// machine describes the machine in a few words.
func machine() string {
	return strconv.Itoa(runtime.NumCPU()) + " cores, " + runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()
}
