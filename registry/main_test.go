package registry_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRegistry(t *testing.T, c registry.Config) *registry.Registry {
	t.Helper()
	r, err := registry.New(c)
	require.NoError(t, err)
	return r
}

// exists reports whether r has a guard of that name, without making it.
func exists(r *registry.Registry, name string) bool {
	return slices.Contains(r.Names(), strings.ToLower(strings.TrimSpace(name)))
}

// text is a configuration in its shortest form.
func text(t *testing.T, s string) registry.Config {
	t.Helper()
	c, err := registry.Parse(s)
	require.NoError(t, err)
	return c
}

func limits(t *testing.T, s string) throttle.Limits {
	t.Helper()
	l, err := throttle.ParseLimits(s)
	require.NoError(t, err)
	return l
}

func policy(t *testing.T, s string) guard.Policy {
	t.Helper()
	return guard.Policy{Limits: limits(t, s)}
}

func do(ctx context.Context, g *guard.Guard, fn func(context.Context) error) error {
	return g.Do(ctx, throttle.Cost{}, fn)
}

// answered has a call to g end with f.
func answered(t *testing.T, g *guard.Guard, f adaptive.Feedback) {
	t.Helper()
	f.Final = true
	_ = g.Try(t.Context(), throttle.Cost{}, func(ctx context.Context) error { // a used-up quota is an error
		guard.Report(ctx, f)
		return nil
	})
}

// judge logs admissions and has the oracle check them.
type judge struct {
	began time.Time
	mu    sync.Mutex // guards auditor, calls
	*oracle.Auditor
	calls int
}

func newJudge(rules ...oracle.Rule) *judge {
	return &judge{began: time.Now(), Auditor: oracle.NewAuditor(rules...)}
}

// admitted notes a call; ended is to be called when it returns.
func (j *judge) admitted() (ended func()) {
	n := j.add(oracle.Entry{Weights: oracle.Weights{1}})
	return func() { j.add(oracle.Entry{Kind: oracle.End, Of: n}) }
}

func (j *judge) add(e oracle.Entry) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Kind == oracle.Admission {
		j.calls++
	}
	e.At = time.Since(j.began)
	return j.Add(e)
}

func refused(context.Context) error { return &adaptive.RateLimitHit{RetryAfter: time.Minute} }
