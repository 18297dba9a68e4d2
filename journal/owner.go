package journal

import (
	"crypto/rand"
	"fmt"
	"os"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/process"
)

// Owner is the run, in one process, that records a Part. A journal keeps all of its fields.
type Owner struct {
	ID      string // of the run; unique
	Host    string // the name of the machine, for people
	PID     int
	Process string // identifies the process among all others; empty if unknown
}

// NewOwner returns a new owner in this process.
func NewOwner() Owner {
	host, _ := os.Hostname() // an empty name is left out where it is shown
	return Owner{ID: rand.Text(), Host: host, PID: os.Getpid(), Process: process.Self().String()}
}

// String names the process.
func (o Owner) String() string {
	switch {
	case o.Process != "" && o.Process == process.Self().String():
		return fmt.Sprintf("this process (%d)", o.PID)
	case o.Host == "":
		return fmt.Sprintf("process %d", o.PID)
	}
	return fmt.Sprintf("process %d on %s", o.PID, o.Host)
}

// Validate joins all problems of o, each a *fault.FieldError.
func (o Owner) Validate() error {
	problems := invalid.Problems{Owner: "journal"}
	checkName(&problems, "Owner.ID", o.ID)
	return problems.Err()
}

// gone reports whether the process is known to have ended.
func (o Owner) gone() bool {
	i, ok := process.Parse(o.Process)
	return ok && i.Gone()
}
