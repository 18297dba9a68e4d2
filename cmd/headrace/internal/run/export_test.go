package run

import (
	"context"
	"io"
	"net/url"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// Target is where a line's url leads below base.
func Target(base, path string) (target, foreign string, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	c := &caller{Run: &settings.Run{Base: u}}
	return c.target(path), elsewhere(u, path), nil
}

// Reach is a reach with a host.
type Reach struct{ reach }

// NewReach returns one.
func NewReach(maxWait time.Duration) *Reach { return &Reach{reach{host: "h", maxWait: maxWait}} }

// Lost records a call that reached no server.
func (g *Reach) Lost(now time.Time, err error) (pause time.Duration, ever bool, stop *StopError) {
	return g.lost(now, err)
}

// Broke records a call that failed with a 5xx or a broken connection.
func (g *Reach) Broke(now time.Time, line int64, err error) (pause time.Duration, stop *StopError) {
	return g.broke(now, line, err)
}

// News is why all requests begin to wait.
func (g *Reach) News() string { return g.takeNews() }

// Refused notes a call that was rejected.
func (g *Reach) Refused() { g.refused() }

// Reached notes an answer.
func (g *Reach) Reached() { g.reached() }

// Outage is an outage.
type Outage struct{ outage }

// NewOutage returns one.
func NewOutage(maxWait time.Duration) *Outage { return &Outage{outage{maxWait: maxWait}} }

// Asked records what a store that was asked at began has answered.
func (o *Outage) Asked(began, now time.Time, err error) (again time.Duration, news, failed string) {
	return o.asked(began, now, err)
}

// ReachedBy describes how far a call got.
func ReachedBy(err error) string { return reached(err) }

// Message is what a body says.
func Message(status int, body string) string { return message(status, []byte(body)) }

// Scrub takes a secret out of text.
func Scrub(text, secret string) string {
	var s scrubber
	s.add(secret)
	return string(s.clean([]byte(text)))
}

// ScrubHeader takes what a header holds out of text.
func ScrubHeader(text, name, value string) string {
	var s scrubber
	s.header(name, value)
	return string(s.clean([]byte(text)))
}

// Workers is how many requests are begun at the same time.
func Workers(s *settings.Run) int { return (&Job{Run: s}).workers() }

// WorkersOf is Workers for requests that were scanned, and how many of them are in memory for results in their order.
func WorkersOf(s *settings.Run, of *requests.Scan) (workers, window int) {
	j := &Job{Run: s, scan: of}
	return j.workers(), j.window()
}

// Alike detects that the first requests all fail in the same way.
type Alike struct{ alike }

// Sent returns the number of a request.
func (a *Alike) Sent() int64 { return a.sent() }

// Ended removes a request from those in flight.
func (a *Alike) Ended(number int64) { a.ended(number) }

// Succeeded notes a success.
func (a *Alike) Succeeded() { a.succeeded() }

// Fails notes a failure, and reports whether the run is stopped.
func (a *Alike) Fails(number int64, kind string) bool { return a.fails(number, kind) }

// Open opens a file, unless ctx ends first.
func Open(ctx context.Context, late func(), open func() (io.Closer, error)) (io.Closer, error) {
	return unless(ctx, late, open)
}

// Count counts what became of a request.
func (o *Outcome) Count(r *results.Result) { o.count(r) }

// StrictLines returns the number of requests that a run with --strict starts.
func StrictLines(in io.Reader) (n int) {
	j := Job{Run: &settings.Run{Flags: settings.Flags{Strict: true}, Base: &url.URL{Scheme: "http", Host: "h"}}}
	for _, err := range j.input(context.Background(), in, nil) {
		if err == nil {
			n++
		}
	}
	return n
}
