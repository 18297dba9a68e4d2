package journal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/invalid"
)

// maxName is how long the texts of a Key may be, in bytes.
const maxName = 1 << 10

// Part is the share of one node in one run.
type Part struct {
	Run  string // it may span any number of processes
	Node string
}

// Key identifies an item of a Part by its content. Its texts have at most 1,024 bytes.
type Key struct {
	Part

	// Content is the item's own key, or a hash of the item.
	Content string
	// Occurrence tells items of the same content apart, from 0.
	Occurrence int64
}

// State is how far an item has come. Failed goes back to Pending for a retry; Done is final.
type State uint8

// The states.
const (
	Unknown State = iota // there is no record
	Pending              // begun: it is being worked on, or its process died
	Done
	Failed
)

var stateNames = [...]string{"unknown", "pending", "done", "failed"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// Record is what a journal has about an item.
type Record struct {
	Key      Key
	State    State
	Value    []byte    // the encoded result of a Done item
	Err      string    // why a Failed item failed
	Attempts int       // in all processes so far
	Begun    time.Time // for the last time
	Ended    time.Time // zero while it is Pending
	Behind   bool      // the output may lack it: it was finished with the last mark, or after it
}

// Progress is how far a Part has come.
type Progress struct {
	Pending, Done, Failed int64
	Mark                  string        // the last one passed to Finish: how far the output was written
	Behind                int64         // Done and Failed records that are not in that output
	RenewWithin           time.Duration // how long the claim lasts without a Renew; 0: until Release
}

// Validate joins all problems of p, each a *fault.FieldError.
func (p Part) Validate() error {
	problems := invalid.Problems{Owner: "journal"}
	checkName(&problems, "Run", p.Run)
	checkName(&problems, "Node", p.Node)
	return problems.Err()
}

// Validate joins all problems of k, each a *fault.FieldError.
func (k Key) Validate() error {
	problems := invalid.Problems{Owner: "journal"}
	problems.Add(k.Part.Validate())
	checkName(&problems, "Content", k.Content)
	if k.Occurrence < 0 {
		problems.Addf("Occurrence", "%d is negative; want 0 for the first item of this content", k.Occurrence)
	}
	return problems.Err()
}

// Validate joins all problems of r as a record for Finish of p, each a *fault.FieldError.
func (r *Record) Validate(p Part) error {
	problems := invalid.Problems{Owner: "journal"}
	problems.Add(r.Key.Validate())
	if r.Key.Part != p {
		problems.Addf("Key", "it is of run %q, node %q; want %q, %q, as all records of one Finish", r.Key.Run, r.Key.Node, p.Run, p.Node)
	}
	if r.State != Done && r.State != Failed {
		problems.Addf("State", "%s; want done or failed", r.State)
	}
	if r.Attempts < 0 {
		problems.Addf("Attempts", "%d is negative", r.Attempts)
	}
	return problems.Err()
}

func checkName(problems *invalid.Problems, field, name string) {
	switch {
	case name == "":
		problems.Addf(field, "it is empty; every record needs one")
	case len(name) > maxName:
		problems.Addf(field, "%d bytes; at most %d can be kept, so hash what is longer", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		problems.Addf(field, "%q is not UTF-8 text without NUL; hash it, or encode it as hex", name[:min(len(name), 32)])
	}
}
