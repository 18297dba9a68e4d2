package guardtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Answer is how the provider answers one attempt.
type Answer struct {
	Status     int           // 0: 200
	RetryAfter time.Duration // of a 429 or 503
	Takes      time.Duration
	Drips      time.Duration      // how long after the header the body arrives
	Deaf       bool               // goes on when the context ends
	Used       throttle.Cost      // what the answer says it cost; zero if it does not say
	Wire       int                // requests that the attempt writes on the wire; 0 if they are not counted
	Reports    *adaptive.Feedback // what the attempt reports; nil if nothing
	Panics     any
	PanicsNil  bool
	Exits      bool // ends its goroutine
}

// Call is one call of a script.
type Call struct {
	At       time.Duration // since the begin
	Key      *guard.Policy // of another guard that the call needs, within those of the case; may be nil
	Try      bool          // without waiting
	Cost     throttle.Cost
	Deadline time.Duration // since At; 0: none
	Answers  []Answer      // one for each attempt; those after the last succeed at once
}

// Outcome is what came of a call.
type Outcome struct {
	Class string          // of its error
	Sent  []time.Duration // when its attempts reached the provider, since the begin
	Ended time.Duration
}

// Attempts is the provider's side of one call.
type Attempts struct {
	begin  time.Time
	within *guard.Guard
	try    bool

	mu      sync.Mutex // guards what follows
	answers []Answer
	sent    []time.Duration
}

// Within is the guard that this call needs besides, or nil.
func (a *Attempts) Within() *guard.Guard { return a.within }

// Try reports whether the call does not wait.
func (a *Attempts) Try() bool { return a.try }

// Next records an attempt and returns its answer.
func (a *Attempts) Next() Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, time.Since(a.begin))
	if len(a.answers) == 0 {
		return Answer{}
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	return next
}

// times are those of the attempts so far. One that hung may still be in progress.
func (a *Attempts) times() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent
}

// Do makes one attempt: it is the function of a call, for doors that take one.
func (a *Attempts) Do(ctx context.Context) error {
	next := a.Next()
	next.Write(guard.CountWire(ctx))
	if next.Reports != nil {
		guard.Report(ctx, *next.Reports)
	}
	if next.Used != (throttle.Cost{}) {
		guard.Use(ctx, next.Used)
	}
	if err := next.Wait(ctx); err != nil {
		return err
	}
	switch next.Status {
	case 0, http.StatusOK:
		return nil
	case http.StatusTooManyRequests:
		return &adaptive.RateLimitHit{RetryAfter: next.RetryAfter}
	default:
		return &StatusError{next.Status}
	}
}

// Write writes the attempt's requests. ctx is that of guard.CountWire.
func (a Answer) Write(ctx context.Context) {
	for range a.Wire {
		httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
	}
}

// Wait takes the answer's time, and then panics or exits if it does.
func (a Answer) Wait(ctx context.Context) error {
	if a.Deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if a.Takes > 0 {
		timer := time.NewTimer(a.Takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if a.Panics != nil {
		panic(a.Panics)
	}
	if a.PanicsNil {
		panic(nil)
	}
	if a.Exits {
		runtime.Goexit()
	}
	return nil
}

// Response is the answer in HTTP.
func (a Answer) Response(req *http.Request) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	if a.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(a.RetryAfter.Seconds())))
	}
	b := &body{Reader: strings.NewReader("{}"), closed: make(chan struct{})}
	if a.Drips > 0 {
		b.after = time.After(a.Drips) //nolint:forbidigo // in virtual time
	}
	return &http.Response{StatusCode: cmp.Or(a.Status, http.StatusOK), Header: h, Body: b, ContentLength: 2, Request: req}
}

// body can be read after a time. Close ends a Read that waits.
type body struct {
	io.Reader

	after  <-chan time.Time
	closed chan struct{}
	close  sync.Once
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.after != nil {
		select {
		case <-b.after:
			b.after = nil
		case <-b.closed:
			return 0, errClosed
		}
	}
	return b.Reader.Read(p)
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.close.Do(func() { close(b.closed) })
	return nil
}

var errClosed = errors.New("guardtest: the body was closed")

// StatusError is an answer with a status other than 200 and 429.
type StatusError struct{ Status int }

// Error gives the status.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Status) }

// StatusCode is what detectors ask for.
func (e *StatusError) StatusCode() int { return e.Status }

// ClassOf names the kind of err, with the RetryAfter of a LimitedError.
func ClassOf(err error) string {
	status, answered := errors.AsType[*StatusError](err)
	limited, late := errors.AsType[*throttle.LimitedError](err)
	switch {
	case err == nil:
		return "done"
	case errors.As(err, new(*fault.PanicError)):
		return "panic"
	case errors.As(err, new(*fault.HungError)):
		return "hung"
	case errors.Is(err, adaptive.ErrQuotaExhausted):
		return "quota exhausted"
	case errors.As(err, new(*breaker.OpenError)):
		return "breaker open"
	case errors.As(err, new(*throttle.CostError)):
		return "never fits"
	case errors.As(err, new(*throttle.DeadlineError)):
		return "too late"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, new(*adaptive.RateLimitHit)):
		return "rate limit"
	case late:
		return "limited for " + limited.RetryAfter.String()
	case errors.Is(err, errStore):
		return "store failed"
	case strings.HasSuffix(err.Error(), "runtime.Goexit"):
		return "exited"
	case answered:
		return fmt.Sprint("status ", status.Status)
	default:
		return "other: " + err.Error()
	}
}
