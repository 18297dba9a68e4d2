package executor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/throttle"
)

// Info is a snapshot of a task for JSON, without secrets.
type Info struct {
	ID       string            `json:"id"`
	State    State             `json:"state"`
	Priority int               `json:"priority,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`

	Times    map[State]time.Time `json:"times"`     // when the task first came into each state
	Queued   time.Duration       `json:"queued_ns"` // in the queue
	Waited   time.Duration       `json:"waited_ns"` // for limits, and between attempts
	Called   time.Duration       `json:"called_ns"` // in calls
	Attempts int                 `json:"attempts"`  // calls begun
	Cost     throttle.Cost       `json:"cost"`      // reserved
	Used     throttle.Cost       `json:"used"`      // charged after a call: by guard.Use, or Cost

	CorrelationID string `json:"correlation_id,omitempty"` // of the last request through package httpclient

	Request  *RequestInfo  `json:"request,omitempty"`
	Response *ResponseInfo `json:"response,omitempty"`
	Error    *ErrorInfo    `json:"error,omitempty"`

	Log     []LogEntry `json:"log"`
	Dropped int        `json:"log_dropped,omitempty"` // log entries dropped
}

// LogEntry is one line of the log of a task.
type LogEntry struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// ErrorInfo is the error of a task.
type ErrorInfo struct {
	Message string   `json:"message"`         // at most 1 KiB
	Types   []string `json:"types"`           // of the error and those that it wraps, outermost first, at most 8
	Stack   string   `json:"stack,omitempty"` // of a panic, at most 8 KiB
}

const maxStack = 8 << 10

const maxTypes = 8

func (t *record) info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, now := &t.life, t.x.clock.Elapsed()
	i := Info{
		ID: t.id(), State: l.state, Priority: int(t.priority),
		Queued: l.in(Queued, now), Waited: l.in(Processing, now), Called: l.in(Calling, now),
		Attempts: int(l.attempts), Cost: t.reserves(), Times: map[State]time.Time{},
	}
	for s := range State(states) {
		if l.entered(s) {
			i.Times[s] = t.x.clock.At(l.first(s))
		}
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
		i.Metadata, i.CorrelationID = maps.Clone(e.metadata), e.correlation
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
		i.CorrelationID = cmp.Or(correlationOf(err), i.CorrelationID)
	}
	i.Log = t.logLocked(secrets)
	return i
}

// logLocked merges the state changes with the notes.
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

// describe describes err and the errors it wraps.
func describe(err error, secrets []string) *ErrorInfo {
	i := &ErrorInfo{Message: errorText(err, secrets), Types: []string{fmt.Sprintf("%T", err)}}
	chain(err, &i.Types)
	i.Stack = stackOf(err, secrets)
	return i
}

// stackOf is the stack of the panic in err, bounded and without the secrets.
func stackOf(err error, secrets []string) (stack string) {
	defer func() { _ = recover() }() // the methods of err are user code
	if p, ok := errors.AsType[*fault.PanicError](err); ok {
		stack = redact.Text(string(p.Stack), secrets)
		stack = strings.ToValidUTF8(stack[:min(len(stack), maxStack)], "")
	}
	return stack
}

// correlationOf returns the ID of the request that failed with err, or "" if err is not from a request.
func correlationOf(err error) (id string) {
	defer func() { _ = recover() }() // the methods of err are user code
	if e, ok := errors.AsType[*httpclient.Error](err); ok {
		id = e.ID
	}
	return id
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
		if one == nil || len(*types) == maxTypes {
			continue
		}
		*types = append(*types, fmt.Sprintf("%T", one))
		chain(one, types)
	}
}

// String returns ID, state and error.
func (i Info) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", i.ID, i.State)
	if i.Error != nil {
		fmt.Fprintf(&b, ": %s", i.Error.Message)
	}
	return b.String()
}
