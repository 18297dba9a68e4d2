package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// sdkError is an error that carries a provider's answer, as those of SDKs do.
type sdkError struct {
	StatusCode int
	Response   *http.Response
	Body       string
}

func (a *sdkError) Error() string { return fmt.Sprint("status ", a.StatusCode) }

func told(status int, body string, header ...string) error {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return fmt.Errorf("call: %w", &sdkError{StatusCode: status, Body: body, Response: &http.Response{StatusCode: status, Header: h}})
}

func TestProblemsOfPresetAndDialect(t *testing.T) {
	lim := newLimiter(t, adaptive.Config{Name: "shared"})
	detector := func(error) adaptive.Feedback { return adaptive.Feedback{} }
	cost := func(int) throttle.Cost { return throttle.Cost{Tokens: 1} }
	shared := `the limiter of WithLimiter has its own`
	for name, tc := range map[string]struct {
		set  func(b batch)
		want []string
	}{
		"a preset":            {func(b batch) { b.WithPreset(presets.OpenAITier1) }, nil},
		"in any case":         {func(b batch) { b.WithPreset(" OpenAI/Tier1 ") }, nil},
		"one without numbers": {func(b batch) { b.WithPreset(presets.AWSBedrockDefault) }, nil},
		"no preset": {
			func(b batch) { b.WithPreset("openai/teir1") },
			[]string{`node "m": WithPreset: presets: unknown preset "openai/teir1": did you mean openai/tier1`},
		},
		"an empty one": {func(b batch) { b.WithPreset("") }, []string{`WithPreset: presets: unknown preset ""`}},
		"one that allows nothing": {
			func(b batch) { b.WithPreset("gemini/free/gemini-3.1-pro") },
			[]string{`node "m": WithPreset: presets: gemini/free/gemini-3.1-pro cannot be called`},
		},
		"the last one counts": {func(b batch) { b.WithPreset("x").WithPreset(presets.OpenAITier1) }, nil},
		"limiter and preset":  {func(b batch) { b.WithLimiter(lim).WithPreset(presets.OpenAITier1) }, []string{"WithPreset: " + shared}},
		"preset and limiter":  {func(b batch) { b.WithPreset(presets.OpenAITier1).WithLimiter(lim) }, []string{"WithPreset: " + shared}},
		"limiter and dialect": {func(b batch) { b.WithLimiter(lim).WithDialect(dialect.Auto) }, []string{"WithDialect: " + shared}},
		"dialect and limiter": {func(b batch) { b.WithDialect(dialect.Auto).WithLimiter(lim) }, []string{"WithDialect: " + shared}},
		"limiter and all": {func(b batch) {
			b.WithPreset(presets.OpenAITier1).WithLimiter(lim).WithDialect(dialect.Auto).WithDetector(detector).WithLaw(adaptive.AIMD{}).WithCost(cost)
		}, []string{"WithLimiter: ", "WithPreset: ", "WithDialect: ", "WithDetector: "}},
		"dialect":                 {func(b batch) { b.WithDialect(dialect.OpenAI) }, nil},
		"dialect in any case":     {func(b batch) { b.WithDialect(dialect.Name("OpenAI")) }, nil},
		"nil dialect":             {func(b batch) { b.WithDialect(nil) }, []string{"WithDialect: the dialect is nil: dialect.Auto finds out who speaks"}},
		"dialect, nil pointer":    {func(b batch) { b.WithDialect((*plain)(nil)) }, []string{"WithDialect: the dialect is nil"}},
		"no dialect":              {func(b batch) { b.WithDialect(dialect.Name("opneai")) }, []string{`WithDialect: dialect: "opneai" is unknown: did you mean "openai"`}},
		"the last dialect counts": {func(b batch) { b.WithDialect(dialect.Name("opneai")).WithDialect(&plain{}) }, nil},
		"a dialect of one's own": {
			func(b batch) { b.WithDialect(&plain{}) }, nil,
		},
		"a hard preset counts requests": {func(b batch) { b.WithPreset(presets.GenericConservative) }, nil},
		"tokens in the limits": {
			func(b batch) { b.WithPreset(presets.OpenAITier1).WithLimits(tokens(10)) },
			[]string{"WithLimits: the window of 10 tokens/h counts nothing unless WithCost"},
		},
		"tokens of a preset that is a cap": {
			func(b batch) { b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.AIMD{}) },
			[]string{"WithPreset: the window of 500000 tokens/min counts nothing unless WithCost"},
		},
		"tokens that are counted": {func(b batch) { b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.AIMD{}).WithCost(cost) }, nil},
		"a bad law":               {func(b batch) { b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.Measured{Max: -1}) }, []string{"WithLaw: "}},
	} {
		t.Run(name, func(t *testing.T) {
			b := node.Map("m", same)
			tc.set(b)
			err := b.Validate()
			if tc.want == nil {
				require.NoError(t, err)
				_, err = b.Limiter()
				require.NoError(t, err)
				return
			}
			_, failed := b.All(t.Context(), numbers(1))
			for _, want := range tc.want {
				assert.ErrorContains(t, err, want)
				assert.ErrorContains(t, failed, want)
			}
			assert.Equal(t, len(tc.want), lines(err), "%v", err)
		})
	}
	var unknown *presets.UnknownError
	require.ErrorAs(t, node.Map("m", same).WithPreset("openai/teir1").Validate(), &unknown)
	assert.Contains(t, unknown.Near, presets.OpenAITier1)
	require.ErrorAs(t, node.Map("m", same).WithPreset("gemini/free/gemini-3.1-pro").Validate(), new(*presets.UnavailableError))
	require.ErrorAs(t, node.Map("m", same).WithDialect(dialect.Name("opneai")).Validate(), new(*dialect.UnknownError))
}

func lines(err error) (n int) {
	for _, r := range err.Error() {
		if r == '\n' {
			n++
		}
	}
	return n + 1
}

// plain is a dialect of the user's own, in which a 418 is a refusal.
type plain struct{}

func (*plain) Name() string { return "plain" }

func (*plain) Read(_ time.Time, status int, _ http.Header, _ []byte) adaptive.Feedback {
	if status == http.StatusTeapot {
		return adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 7 * time.Second}
	}
	return adaptive.Feedback{}
}

func (*plain) Estimate(*http.Request, []byte) throttle.Cost { return throttle.Cost{} }

func limitsOf(t *testing.T, text string) throttle.Limits {
	t.Helper()
	if text == "" {
		return throttle.Limits{}
	}
	l, err := throttle.ParseLimits(text)
	require.NoError(t, err)
	return l
}

// What the limiter of a node is made of: its hard caps, and where its law begins.
func TestAPresetIsWhereTheLawStarts(t *testing.T) {
	cost := func(int) throttle.Cost { return throttle.Cost{} }
	perMinute := func(n float64) float64 { return n / 60 }
	for name, tc := range map[string]struct {
		set      func(b batch)
		caps     string
		inFlight int
		pace     float64 // requests per second
	}{
		"the defaults":             {func(b batch) { b.WithPreset(presets.OpenAITier1) }, "", 4, perMinute(500)},
		"as many as there are":     {func(b batch) { b.WithPreset(presets.OpenAITier1).WithParallel(32) }, "", 32, perMinute(500)},
		"workers beyond the usual": {func(b batch) { b.WithParallel(300).WithPreset(presets.OpenAITier1) }, "", 300, perMinute(500)},
		"what the preset allows":   {func(b batch) { b.WithParallel(32).WithPreset("crossref/polite/single-record") }, "", 3, 10},
		"less than it allows":      {func(b batch) { b.WithParallel(32).WithPreset("deepseek/default/deepseek-flash") }, "", 32, 0},
		"caps": {func(b batch) {
			b.WithParallel(32).WithPreset(presets.OpenAITier1).WithLimits(limitsOf(t, "100/min, 8 concurrent"))
		}, "100/min, 8 concurrent", 8, perMinute(500)},
		"a preset below the caps": {func(b batch) {
			b.WithParallel(32).WithPreset("crossref/polite/single-record").WithLimits(concurrency(8))
		}, "8 concurrent", 3, 10},
		"a preset without numbers": {func(b batch) { b.WithParallel(6).WithPreset(presets.AWSBedrockDefault) }, "", 6, 0},
		"a rule to keep":           {func(b batch) { b.WithParallel(8).WithPreset(presets.GenericConservative) }, "20/min, 2 concurrent", 2, perMinute(20)},
		"a rule and stricter caps": {func(b batch) { b.WithPreset(presets.GenericModerate).WithLimits(limitsOf(t, "2/s, 3 concurrent")) }, "2/s, 60/min, 3 concurrent", 3, 1},
		"a rule and looser caps":   {func(b batch) { b.WithPreset(presets.GenericModerate).WithLimits(limitsOf(t, "99/s, 30 concurrent")) }, "99/s, 60/min, 5 concurrent", 5, 1},
		"a rule without a bound":   {func(b batch) { b.WithPreset("sec-edgar/any/all").WithLimits(concurrency(3)) }, "10/s, 3 concurrent", 3, 10},
		"a Measured of one's own":  {func(b batch) { b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.Measured{Max: 6}).WithParallel(32) }, "", 6, perMinute(500)},
		"one that says where": {func(b batch) {
			b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.Measured{Initial: 9}).WithParallel(32)
		}, "", 9, perMinute(500)},
		"one that has a prior": {func(b batch) {
			b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.Measured{Prior: limitsOf(t, "3/s")}).WithParallel(32)
		}, "", 4, 3},
		"a prior in flight": {func(b batch) {
			b.WithPreset(presets.OpenAITier1).WithLaw(adaptive.Measured{Prior: concurrency(11)}).WithParallel(32)
		}, "", 11, 0},
		"another law": {
			func(b batch) { b.WithPreset("groq/free").WithLaw(adaptive.AIMD{Initial: 5}).WithCost(cost) },
			"30/min, 1000/day, 6000 tokens/min, 100000 tokens/day", 5, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := node.Map("m", same)
			tc.set(b)
			require.NoError(t, b.Validate())
			lim, err := b.Limiter()
			require.NoError(t, err)
			assert.Equal(t, limitsOf(t, tc.caps).String(), lim.Throttle().Limits().String())
			v := lim.View()
			assert.Equal(t, tc.inFlight, v.Concurrency)
			assert.InEpsilon(t, 1+tc.pace, 1+v.Pace[throttle.Requests], 0.03, "of the preset's, or a little less: %g", v.Pace[throttle.Requests])
			assert.Equal(t, "m", lim.Name(), "it is the node's own")
		})
	}
}

// The same settings in each of their 720 orders make the same limiter.
func TestTheOrderOfSettingsDoesNotMatter(t *testing.T) {
	sets := []func(batch){
		func(b batch) { b.WithPreset(presets.GenericModerate) },
		func(b batch) { b.WithLimits(limitsOf(t, "9/s, 4 concurrent")) },
		func(b batch) { b.WithLaw(adaptive.Measured{Max: 3}) },
		func(b batch) { b.WithDialect(&plain{}) },
		func(b batch) {
			b.WithDetector(func(err error) adaptive.Feedback {
				if errors.Is(err, errBoom) {
					return adaptive.Feedback{Verdict: adaptive.Overloaded}
				}
				return adaptive.Feedback{}
			})
		},
		func(b batch) { b.WithParallel(5) },
	}
	n := 0
	var permute func(done, left []int)
	permute = func(done, left []int) {
		if len(left) > 0 {
			for i, x := range left {
				permute(append(slices.Clone(done), x), slices.Delete(slices.Clone(left), i, i+1))
			}
			return
		}
		n++
		b := node.Map("m", same)
		for _, i := range done {
			sets[i](b)
		}
		require.NoError(t, b.Validate())
		lim, err := b.Limiter()
		require.NoError(t, err)
		require.Equal(t, "9/s, 60/min, 4 concurrent", lim.Throttle().Limits().String(), "%v", done)
		require.Equal(t, 3, lim.View().Concurrency)
		require.InDelta(t, 1, lim.View().Pace[throttle.Requests], 0.04)
		require.Equal(t, adaptive.Overloaded, lim.Classify(errBoom).Verdict, "%v", done)
		require.Equal(t, 7*time.Second, lim.Classify(told(418, "")).RetryAfter, "%v", done)
		require.Equal(t, adaptive.Hit, lim.Classify(told(429, "")).Verdict, "%v", done)
	}
	permute(nil, []int{0, 1, 2, 3, 4, 5})
	assert.Equal(t, 720, n)
}

func TestWhoIsAskedWhatAnErrorMeans(t *testing.T) {
	slowDown := told(503, `{"error": {"code": "slow_down"}}`) // the default detector takes it for a failure
	secondary := told(403, `{"message": "You have exceeded a secondary rate limit."}`, "Retry-After", "5")
	mine := func(err error) adaptive.Feedback {
		if errors.Is(err, errBoom) {
			panic("a detector that is broken")
		}
		return adaptive.Feedback{Verdict: adaptive.Terminal}
	}
	broken := errors.Join(errBoom, slowDown)
	for name, tc := range map[string]struct {
		set  func(b batch)
		err  error
		want adaptive.Verdict
	}{
		"nobody knows":                      {func(b batch) { b.WithLimits(concurrency(1)) }, slowDown, adaptive.Transient},
		"the preset's dialect":              {func(b batch) { b.WithPreset(presets.OpenAITier1) }, slowDown, adaptive.Overloaded},
		"a dialect":                         {func(b batch) { b.WithLimits(concurrency(1)).WithDialect(dialect.OpenAI) }, slowDown, adaptive.Overloaded},
		"which is not another's":            {func(b batch) { b.WithPreset(presets.OpenAITier1) }, secondary, adaptive.OK},
		"another dialect than the preset's": {func(b batch) { b.WithPreset(presets.OpenAITier1).WithDialect(dialect.GitHub) }, secondary, adaptive.Hit},
		"whose name is in any case":         {func(b batch) { b.WithLimits(concurrency(1)).WithDialect(dialect.Name("GitHub")) }, secondary, adaptive.Hit},
		"the user's own first":              {func(b batch) { b.WithPreset(presets.OpenAITier1).WithDetector(mine) }, slowDown, adaptive.Terminal},
		"if it is not broken":               {func(b batch) { b.WithPreset(presets.OpenAITier1).WithDetector(mine) }, broken, adaptive.Overloaded},
		"at last the default":               {func(b batch) { b.WithPreset(presets.OpenAITier1) }, errors.New("429: too many requests"), adaptive.Hit},
	} {
		t.Run(name, func(t *testing.T) {
			b := node.Map("m", same)
			tc.set(b)
			lim, err := b.Limiter()
			require.NoError(t, err)
			assert.Equal(t, tc.want, lim.Classify(tc.err).Verdict)
		})
	}
}

// Without a limiter a dialect is asked all the same: a 403 would be an answer
// that no retry gets another of.
func TestADialectIsEnoughToWaitARefusalOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		exec := func(context.Context) error {
			if calls.Add(1) == 1 {
				return told(403, `{"message": "You have exceeded a secondary rate limit."}`, "Retry-After", "5")
			}
			return nil
		}
		began := time.Now()
		_, err := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, exec(ctx) }).
			WithDialect(dialect.GitHub).All(t.Context(), numbers(3))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		assert.Equal(t, int64(4), calls.Load())

		calls.Store(0)
		_, err = node.Do("s", func(ctx context.Context, _ *state) error { return exec(ctx) }).
			WithDialect(dialect.GitHub).Run(t.Context(), &state{})
		require.NoError(t, err)
		assert.Equal(t, int64(2), calls.Load())

		calls.Store(0)
		_, err = node.Map("m", func(ctx context.Context, i int) (int, error) { return i, exec(ctx) }).All(t.Context(), numbers(3))
		assert.Error(t, err, "it is the dialect that knows")
	})
}

// A rule to keep is kept in every interval, although nothing is ever refused.
func TestAHardPresetIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		auditor := oracle.NewAuditor(oracle.Sliding(0, 20, time.Minute), oracle.Concurrency(2))
		began := time.Now()
		var mu sync.Mutex // guards auditor
		note := func(e oracle.Entry) int {
			mu.Lock()
			defer mu.Unlock()
			e.At = time.Since(began)
			return auditor.Add(e)
		}
		m := node.Map("m", func(ctx context.Context, i int) (int, error) {
			n := note(oracle.Entry{Weights: oracle.Weights{1}})
			defer note(oracle.Entry{Kind: oracle.End, Of: n})
			return i, work(ctx, 4*time.Second)
		}).WithParallel(8).WithPreset(presets.GenericConservative)
		_, err := m.All(t.Context(), numbers(90))
		require.NoError(t, err)
		require.NoError(t, auditor.Verdict().Err())
		for _, tally := range auditor.Verdict().Tallies {
			assert.Greater(t, tally.Worst.Observed, tally.Worst.Allowed-2, "%s was not used to the full", tally.Rule)
		}
	})
}

// What the provider really allows is found from there, up and down.
func TestAPresetIsNoCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := node.Map("m", func(ctx context.Context, i int) (int, error) { return i, work(ctx, time.Second) }).
			WithParallel(40).WithPreset(presets.OpenAITier1)
		began := time.Now()
		_, err := m.All(t.Context(), numbers(500))
		require.NoError(t, err)
		assert.InDelta(t, 60, time.Since(began).Seconds(), 20, "500 a minute, more or less")
		_, err = m.All(t.Context(), numbers(4_500))
		require.NoError(t, err)
		assert.Less(t, time.Since(began), 5*time.Minute, "it would be ten minutes, but nothing is refused")
	})
}

func TestPresetOfAStep(t *testing.T) {
	step := node.Do("s", func(context.Context, *state) error { return nil }).
		WithPreset(presets.GenericConservative).WithDialect(dialect.GitHub).WithLimits(perMinute(5))
	require.NoError(t, step.Validate())
	lim, err := step.Limiter()
	require.NoError(t, err)
	assert.Equal(t, "5/min, 20/min, 2 concurrent", lim.Throttle().Limits().String())
	assert.Equal(t, 2, lim.View().Concurrency)
	assert.Equal(t, adaptive.Hit, lim.Classify(told(403, `{"message": "secondary rate limit"}`, "Retry-After", "5")).Verdict)

	err = node.Do("s", func(context.Context, *state) error { return nil }).
		WithPreset(presets.OpenAITier1).WithLaw(adaptive.AIMD{}).Validate()
	assertProblems(t, err, "WithPreset")
}

var olderRows atomic.Int64 // each row is told once in a process, and go test -count is one

// older returns a preset that no test has run with.
func older(t *testing.T) presets.Profile {
	t.Helper()
	n := olderRows.Add(1)
	for _, p := range presets.All() {
		if n--; n < 0 && p.Kind != presets.KindUnavailable {
			return p
		}
	}
	t.Skip("all presets are used up")
	return presets.Profile{}
}

// However many nodes and runs there are, a preset that is out of date is told once.
func TestAStalePresetIsToldOnce(t *testing.T) {
	p := older(t)
	synctest.Test(t, func(t *testing.T) {
		var events log
		stale := func() (all []event.Event) {
			for _, e := range events.all() {
				if e.Kind == event.LimiterStalePreset {
					all = append(all, e)
				}
			}
			return all
		}
		ctx := event.With(t.Context(), &events)
		run := func(ctx context.Context) {
			var running sync.WaitGroup
			for range 4 {
				running.Go(func() {
					_, err := node.Map("m", same).WithPreset(p.ID).All(ctx, numbers(1))
					assert.NoError(t, err)
				})
			}
			running.Wait()
		}
		run(ctx)
		assert.Empty(t, stale(), "it is of the year 2000")
		time.Sleep(time.Until(p.AsOf.Add(presets.MaxAge + time.Second)))
		run(t.Context())
		assert.Empty(t, stale(), "nobody listens, so it is not said yet")
		now := time.Now()
		run(ctx)
		_, err := node.Do("s", func(context.Context, *state) error { return nil }).WithPreset(p.ID).Run(ctx, &state{})
		require.NoError(t, err)
		require.Len(t, stale(), 1)
		e := stale()[0]
		assert.Equal(t, string(p.ID), e.Key)
		assert.Equal(t, "m", e.Source)
		assert.Equal(t, event.NoIndex, e.Index)
		assert.Equal(t, now, e.Time)
		assert.Contains(t, e.Reason, p.Date())
		assert.Contains(t, e.Reason, p.Source.URL)
	})
}
