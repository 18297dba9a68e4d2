package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// inFlight is less than what the windows allow at the beginning of their periods, so that slots and windows bind by turns.
const inFlight = 20

// Lease is how long a call of a Load has its slot if its answer was lost.
const Lease = 400 * time.Millisecond

// anchor is when the periods of the calendar are counted from.
func anchor() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// shared is what all callers of a load share. No call gives anything back, so that the log is the whole history.
func shared(cost int64) quota.Request {
	return quota.Request{Lease: Lease, Demands: []quota.Demand{
		{Key: "service", Cost: throttle.Cost{Tokens: cost}, Limits: throttle.Limits{Concurrency: inFlight, Windows: []throttle.Window{
			throttle.Sliding(400, 200*time.Millisecond), throttle.Bucket(5000, 90).Of(throttle.Tokens),
		}}},
		{Key: "model", Limits: throttle.Limits{Windows: []throttle.Window{
			throttle.Sliding(100, 60*time.Millisecond), throttle.Fixed(180, 100*time.Millisecond, anchor()),
		}}},
	}}
}

// rules are the limits of shared, so many times.
func rules(times int64) []oracle.Rule {
	requests, tokens := int(throttle.Requests), int(throttle.Tokens)
	return []oracle.Rule{
		oracle.Sliding(requests, times*400, 200*time.Millisecond), oracle.Bucket(tokens, 5000, time.Second, times*90),
		oracle.Sliding(requests, times*100, 60*time.Millisecond), oracle.Fixed(requests, times*180, 100*time.Millisecond, anchor(), time.Unix(0, 0)),
	}
}

// Granted is a call that a store has admitted: when by the clock of Redis, from when until when it had a slot at
// least by that of the host, and its tokens. Both clocks are of one machine. Times are nanoseconds since 1970.
type Granted struct{ At, From, Until, Tokens int64 }

// Load takes as much from a store as it gets, as so many callers at a time, until ctx ends. Each Take has the deadline
// within; what fails is tried again. It returns how long the slowest Take took to return once its deadline was noticed,
// which is late on a busy machine.
func Load(ctx context.Context, s quota.Store, callers int, within time.Duration, granted func(Granted)) (late time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range callers {
		r := shared(int64(1 + i%3))
		wg.Go(func() {
			for ctx.Err() == nil {
				asked := time.Now()
				timed, cancel := context.WithTimeout(ctx, within)
				over := make(chan time.Time, 1)
				inTime := context.AfterFunc(timed, func() { over <- time.Now() })
				g, err := s.Take(timed, r)
				from := time.Now()
				if !inTime() {
					mu.Lock()
					late = max(late, from.Sub(<-over))
					mu.Unlock()
				}
				cancel()
				switch {
				case err != nil:
					wait(ctx, time.Millisecond)
					continue
				case g.Wait > 0:
					wait(ctx, g.Wait)
					continue
				}
				if at := g.Ticket.At / 1000; at < asked.UnixMicro() || at > from.UnixMicro() {
					panic(fmt.Sprintf("admitted at %d, not from %d to %d", at, asked.UnixMicro(), from.UnixMicro()))
				}
				wait(ctx, time.Millisecond)
				until := time.Now()
				timed, cancel = context.WithTimeout(context.WithoutCancel(ctx), within)
				err = s.End(timed, g.Ticket, nil)
				cancel()
				if errors.Is(err, quota.ErrLeaseLost) {
					until = from // this machine was slow: since when it held no slot is not known
				}
				until = time.Unix(0, min(until.UnixNano(), g.Ticket.At+int64(Lease)))
				mu.Lock()
				granted(Granted{g.Ticket.At, min(from.UnixNano(), until.UnixNano()), until.UnixNano(), r.Demands[0].Cost.Tokens})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return late
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Write writes a call as ReadLog reads it.
func (g Granted) Write(w io.Writer) {
	_, _ = fmt.Fprintln(w, g.At, g.From, g.Until, g.Tokens)
}

// ReadLog reads calls up to the end.
func ReadLog(r io.Reader) (log []Granted) {
	for {
		var g Granted
		if _, err := fmt.Fscanln(r, &g.At, &g.From, &g.Until, &g.Tokens); err != nil {
			return log
		}
		log = append(log, g)
	}
}

// Judge returns an error if calls of a Load exceed its limits so many times taken. It reads only what was granted.
func Judge(log []Granted, times int64) error {
	entries, calls := make([]oracle.Entry, len(log)), make([]oracle.Call, len(log))
	for i, g := range log {
		entries[i] = oracle.Entry{At: time.Duration(g.At), Weights: oracle.Weights{throttle.Requests: 1, throttle.Tokens: g.Tokens}}
		calls[i] = oracle.Call{At: time.Duration(g.From), Done: time.Duration(g.Until)}
	}
	slices.SortFunc(entries, func(a, b oracle.Entry) int { return cmp.Compare(a.At, b.At) })
	return errors.Join(
		oracle.Judge(entries, rules(times)...).Err(),
		oracle.Judge(oracle.Timeline(calls), oracle.Concurrency(times*inFlight)).Err(),
	)
}

// Between returns the calls that were admitted and ended from one instant to another.
func Between(log []Granted, from, to time.Time) (part []Granted) {
	for _, g := range log {
		if g.At >= from.UnixNano() && max(g.At, g.Until) < to.UnixNano() {
			part = append(part, g)
		}
	}
	return part
}
