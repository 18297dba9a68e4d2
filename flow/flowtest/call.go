package flowtest

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is how a call ended.
type Outcome string

// The outcomes of calls.
const (
	Running  Outcome = "running"  // it has not ended
	Answered Outcome = "ok"       // with a result
	Refused  Outcome = "refused"  // for rate: status 429, except for a quota that is used up
	Failed   Outcome = "failed"   // any other status from 400, or an error without an answer
	Canceled Outcome = "canceled" // the caller's context ended first
	Panicked Outcome = "panicked"
)

// Call is one attempt that reached a provider. Times are since the Record was made.
type Call struct {
	Provider   string
	Key        string // usually the item that it is for
	Seq        int    // counts the calls of the provider, from 1
	Attempt    int    // counts the calls with this key, from 1
	Start      time.Duration
	End        time.Duration // 0 while it is Running
	Waited     time.Duration // since the call before it with the same key ended; 0 for the first
	Outcome    Outcome
	Status     int           // of HTTP; 0 if there was no answer
	RetryAfter time.Duration // of a refusal; 0: none
	Err        error         // that the caller received; nil with an http.Response
}

// String describes the call in one line.
func (c Call) String() string {
	var b strings.Builder
	b.WriteString("call " + c.Provider)
	if c.Key != "" {
		b.WriteString(" " + c.Key)
	}
	if c.Attempt > 1 {
		fmt.Fprintf(&b, ", attempt %d after %s", c.Attempt, brief(c.Waited))
	}
	fmt.Fprintf(&b, ": %s", c.Outcome)
	switch {
	case c.Outcome == Failed && c.Status != 0:
		fmt.Fprintf(&b, " with %d", c.Status)
	case c.Outcome == Failed && c.Err != nil:
		b.WriteString(" with " + firstLine(c.Err))
	case c.Outcome == Refused && c.RetryAfter > 0:
		fmt.Fprintf(&b, ", retry after %s", brief(c.RetryAfter))
	}
	if took := c.End - c.Start; c.Outcome != Running && took != usual && brief(took) != "0s" {
		fmt.Fprintf(&b, ", took %s", brief(took))
	}
	return b.String()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
