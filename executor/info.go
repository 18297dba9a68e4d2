package executor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/throttle"
)

// Info is what is known about a task at one moment. It is a copy, made for
// JSON, and has no secrets as far as WithRequest could tell them.
type Info struct {
	ID       string            `json:"id"`
	Executor string            `json:"executor"`
	State    State             `json:"state"`
	Priority int               `json:"priority,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`

	Times    Times         `json:"times"`
	Queued   time.Duration `json:"queued_ns"` // in the queue so far
	Waited   time.Duration `json:"waited_ns"` // for limits, and between attempts
	Called   time.Duration `json:"called_ns"` // in its calls
	Attempts int           `json:"attempts"`  // calls that were begun
	Cost     throttle.Cost `json:"cost"`      // reserved
	Used     throttle.Cost `json:"used"`      // what was charged once a call has returned: by guard.Use, else Cost

	Request  *RequestInfo  `json:"request,omitempty"`
	Response *ResponseInfo `json:"response,omitempty"`
	Error    *ErrorInfo    `json:"error,omitempty"`

	Log     []LogEntry `json:"log"`
	Dropped int        `json:"log_dropped,omitempty"` // entries after the first that were too many
}

// Times are when the task came into its states for the first time; zero if it has not yet.
type Times struct {
	Pending    time.Time `json:"pending,omitzero"`
	Queued     time.Time `json:"queued,omitzero"`
	Processing time.Time `json:"processing,omitzero"`
	Calling    time.Time `json:"calling,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
}

// LogEntry is one line in the log of a task, for people.
type LogEntry struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// ErrorInfo describes the error of a task.
type ErrorInfo struct {
	Type    string   `json:"type"`            // of Go, such as *httpclient.Error
	Message string   `json:"message"`         // at most 1 KiB
	Chain   []string `json:"chain,omitempty"` // the types of the errors that it wraps, the outermost first; at most 8
}

const maxChain = 8

func (t *record) info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, now := &t.life, t.x.clock.Elapsed()
	i := Info{
		ID: t.id(), Executor: t.x.name, State: l.state, Priority: int(t.priority),
		Queued: l.in(Queued, now), Waited: l.in(Processing, now), Called: l.in(Calling, now),
		Attempts: int(l.attempts), Cost: t.reserves(),
	}
	i.Times = Times{t.at(Pending), t.at(Queued), t.at(Processing), t.at(Calling), t.at(l.state)}
	if !l.state.Terminal() {
		i.Times.Ended = time.Time{}
	}
	if l.entered(Calling) && l.state != Calling {
		i.Used = i.Cost
	}
	if c := t.course; c != nil {
		i.Dropped = c.dropped
		if c.used != (throttle.Cost{}) {
			i.Used = c.used
		}
	}
	var secrets []string
	if e := t.extra; e != nil {
		i.Metadata = maps.Clone(e.metadata)
		if e.request != nil {
			secrets = e.request.secrets
			i.Request = e.request.info(t.x.config.Keep)
		}
		if e.response != nil {
			i.Response = e.response.info(secrets, t.x.config.Keep)
		}
	}
	if err := t.errLocked(); err != nil {
		i.Error = describe(err, secrets)
	}
	i.Log = t.logLocked(secrets)
	return i
}

func (t *record) at(s State) time.Time {
	if !t.life.entered(s) {
		return time.Time{}
	}
	return t.x.clock.At(t.life.first(s))
}

// logLocked puts together what the states tell and what was noted besides.
func (t *record) logLocked(secrets []string) []LogEntry {
	l := &t.life
	type line struct {
		at   time.Duration
		text string
	}
	lines := []line{{l.first(Pending), "submitted"}}
	add := func(s State, format string, args ...any) {
		if l.entered(s) {
			lines = append(lines, line{l.first(s), fmt.Sprintf(format, args...)})
		}
	}
	add(Queued, "queued, after %s for room", round(l.in(Pending, 0)))
	add(Processing, "acquired slot, after %s in the queue", round(l.in(Queued, 0)))
	if c := t.course; c != nil {
		for i := range c.notes {
			lines = append(lines, line{c.notes[i].at, c.notes[i].text(secrets)})
		}
	}
	add(Calling, "called")
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	add(Completed, "completed after %s", round(l.first(Completed)-l.first(Pending)))
	add(Failed, "failed after %s", round(l.first(Failed)-l.first(Pending)))
	add(Cancelled, "cancelled after %s", round(l.first(Cancelled)-l.first(Pending)))
	entries := make([]LogEntry, len(lines))
	for i, one := range lines {
		entries[i] = LogEntry{t.x.clock.At(one.at), one.text}
	}
	return entries
}

// describe tells of err and what it wraps.
func describe(err error, secrets []string) *ErrorInfo {
	i := &ErrorInfo{Type: fmt.Sprintf("%T", err), Message: errorText(err, secrets)}
	chain(err, &i.Chain)
	return i
}

// chain adds the types of what err wraps, depth first.
func chain(err error, types *[]string) {
	defer func() { _ = recover() }() // the methods of err are user code
	var inner []error
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	for _, one := range inner {
		if one == nil || len(*types) == maxChain {
			continue
		}
		*types = append(*types, fmt.Sprintf("%T", one))
		chain(one, types)
	}
}

// String is one line for people: the ID, the state and the error.
func (i Info) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", i.ID, i.State)
	if i.Error != nil {
		fmt.Fprintf(&b, ": %s", i.Error.Message)
	}
	return b.String()
}
