package goodput

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/headrace/headrace/providertest"
)

// joining is how far apart the processes of a run start.
const joining = 250 * time.Millisecond

// dial says how a run reaches its server.
type dial func(*providertest.Server) (transport http.RoundTripper, url string)

// loopback is real HTTP.
func loopback(s *providertest.Server) (http.RoundTripper, string) {
	return s.Client().Transport, s.URL()
}

// play has c call the provider of s, from its start to the end of t, and returns
// the provider's ledger and when it began.
func play(ctx context.Context, s *Scenario, c *Contender, t Times, seed uint64, to dial) (providertest.Ledger, time.Time, error) {
	server, err := providertest.New(providertest.Config{
		Limits: s.Limits, RetryAfter: s.RetryAfter, Headers: c.Headers, Latency: s.latency(), Seed: seed,
	})
	if err != nil {
		return providertest.Ledger{}, time.Time{}, err
	}
	defer server.Close()
	begin := time.Now()
	transport, url := to(server)

	group, failed := errgroup.WithContext(ctx)
	// A timer and not a deadline: no client may know when the run ends.
	running, cancel := context.WithCancel(failed)
	defer cancel()
	defer time.AfterFunc(t.end(), cancel).Stop()
	for i := range s.processes() {
		caller, err := c.Start(&wire{transport, url, strconv.Itoa(i), s.processes()}, seed*1_000_003+uint64(i))
		if err != nil {
			return providertest.Ledger{}, time.Time{}, err
		}
		for range c.Workers {
			group.Go(func() error { return work(running, caller, time.Duration(i)*joining) })
		}
	}
	for _, p := range s.Phases {
		group.Go(func() error {
			if !sleep(running, t.start(p)) {
				return nil
			}
			return server.SetLimits(s.limits(p.Factor))
		})
	}
	if err := cmp.Or(group.Wait(), context.Cause(ctx)); err != nil {
		return providertest.Ledger{}, time.Time{}, fmt.Errorf("%s, %s: %w", s.Name, c.Name, err)
	}
	server.Close()
	return server.Ledger(), begin, nil
}

// work makes one call after the other until ctx ends.
func work(ctx context.Context, call Caller, after time.Duration) error {
	if !sleep(ctx, after) {
		return nil
	}
	for ctx.Err() == nil {
		if err := call(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// sleep waits for d and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// measure plays one run and sets what it got in relation to the oracle.
func measure(ctx context.Context, s *Scenario, c *Contender, t Times, seed uint64, to dial) (Run, error) {
	ledger, begin, err := play(ctx, s, c, t, seed, to)
	if err != nil {
		return Run{}, err
	}
	got := count(ledger, begin.Add(t.WarmUp), begin.Add(t.end()), s.processes())
	latency := got.latency(s.Latency)
	measured := got.figures(s.oracle(t, latency))
	span := s.firstMinute(t)
	first := count(ledger, begin, begin.Add(span), s.processes())
	return Run{Figures: measured, First: first.figures(s.possible(span, latency))}, nil
}
