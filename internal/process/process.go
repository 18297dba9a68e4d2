// Package process tells one process from every other one, and reports whether
// one that is known by its identity has ended.
package process

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Identity names a process. Identities are equal only if the processes are.
type Identity struct {
	Machine string // the running system, and its space of process IDs; empty if unknown
	PID     int
	Start   string // when the process began, as the system counts; empty if unknown
	Nonce   string // random
}

// Self returns the identity of this process.
func Self() Identity { return self() }

var self = sync.OnceValue(func() Identity { //nolint:gochecknoglobals // it is the same for as long as the process lives
	pid := os.Getpid()
	start, _ := startOf(pid)
	return Identity{Machine: machine(), PID: pid, Start: start, Nonce: rand.Text()}
})

const (
	separator = " "
	unknown   = "-"
)

// String returns the identity as a text without spaces at its ends; see Parse.
func (i Identity) String() string {
	field := func(s string) string {
		if s == "" {
			return unknown
		}
		return s
	}
	return strings.Join([]string{field(i.Machine), strconv.Itoa(i.PID), field(i.Start), field(i.Nonce)}, separator)
}

// Parse returns the identity that String made text of. It is not ok if text is anything else.
func Parse(text string) (i Identity, ok bool) {
	n, err := fmt.Sscanf(text, "%s %d %s %s", &i.Machine, &i.PID, &i.Start, &i.Nonce)
	if err != nil || n != 4 || i.String() != text {
		return Identity{}, false
	}
	for _, s := range []*string{&i.Machine, &i.Start, &i.Nonce} {
		if *s == unknown {
			*s = ""
		}
	}
	return i, true
}

// Gone reports whether the process is known to have ended. It returns false if
// the process lives, runs on another machine, or cannot be looked at.
func (i Identity) Gone() bool {
	me := Self()
	switch {
	case i.Machine == "" || i.Machine != me.Machine || i.PID <= 0:
		return false
	case i.PID == me.PID:
		return i.Nonce != me.Nonce // its number was given to this process
	case !exists(i.PID):
		return true
	}
	start, ended := startOf(i.PID)
	return ended || start != "" && i.Start != "" && start != i.Start
}
