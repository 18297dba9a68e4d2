package flowtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow/flowtest"
	"github.com/headrace/headrace/providertest"
)

var errBoom = errors.New("boom")

// begin returns a Record and a Provider, for use in a bubble.
func begin(t *testing.T) (*flowtest.Record, *flowtest.Provider) {
	t.Helper()
	rec := flowtest.New(t)
	api := rec.NewProvider("api")
	return rec, api
}

// outcomes calls api about each key and returns how the calls came out.
func outcomes(t *testing.T, api *flowtest.Provider, keys ...string) []flowtest.Outcome {
	t.Helper()
	before := len(api.Calls())
	for _, key := range keys {
		_, _ = api.Call(t.Context(), key)
	}
	var all []flowtest.Outcome
	for _, c := range api.Calls()[before:] {
		all = append(all, c.Outcome)
	}
	return all
}

func TestWhoAnswersFirst(t *testing.T) {
	const ok, refused, failed = flowtest.Answered, flowtest.Refused, flowtest.Failed
	synctest.Test(t, func(t *testing.T) {
		_, api := begin(t)
		api.For("a", flowtest.Fail(500)).For("a", flowtest.OK()).
			At(1, flowtest.Refuse(0)).At(3, flowtest.Refuse(sec), flowtest.FailWith(errBoom)).
			Limit(1, time.Hour).
			Otherwise(flowtest.Fail(404))
		assert.Equal(t, []flowtest.Outcome{failed, refused, refused, failed, ok, refused},
			outcomes(t, api, "a", "b", "b", "b", "a", "a"), "the key's own; the limit; the number's; ...; the limit")
	})
}

func TestWhatACallSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		api.At(1, flowtest.OK().Taking(2*sec), flowtest.Refuse(90*sec).Taking(sec), flowtest.FailWith(errBoom))
		for range 3 {
			_, _ = api.Call(rec.Context(), "a")
			time.Sleep(10 * sec)
		}
		refused := api.Calls()[1]
		assert.Equal(t, flowtest.Calls{
			{Provider: "api", Key: "a", Seq: 1, Attempt: 1, End: 2 * sec, Outcome: flowtest.Answered, Status: 200},
			{
				Provider: "api", Key: "a", Seq: 2, Attempt: 2, Start: 12 * sec, End: 13 * sec, Waited: 10 * sec,
				Outcome: flowtest.Refused, Status: 429, RetryAfter: 90 * sec, Err: refused.Err,
			},
			{
				Provider: "api", Key: "a", Seq: 3, Attempt: 3, Start: 23 * sec, End: 23*sec + time.Millisecond, Waited: 10 * sec,
				Outcome: flowtest.Failed, Err: errBoom,
			},
		}, api.Calls())
		assert.Equal(t, 33*sec+time.Millisecond, rec.Elapsed())
	})
}

// The limiters know the provider's errors by themselves.
func TestHowErrorsAreUnderstood(t *testing.T) {
	for about, c := range map[string]struct {
		step    flowtest.Step
		verdict adaptive.Verdict
		after   time.Duration
	}{
		"refused":        {flowtest.Refuse(20 * sec), adaptive.Hit, 20 * sec},
		"for a fraction": {flowtest.Refuse(1500 * time.Millisecond), adaptive.Hit, 1500 * time.Millisecond},
		"without advice": {flowtest.Refuse(0), adaptive.Hit, 0},
		"no money":       {flowtest.QuotaExhausted(), adaptive.Terminal, 0},
		"a header":       {flowtest.Fail(503).Header("Retry-After", "7"), adaptive.Overloaded, 7 * sec},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, api := begin(t)
				_, err := api.Otherwise(c.step).Call(rec.Context(), "a")
				f := adaptive.DefaultDetector(err)
				assert.Equal(t, c.verdict, f.Verdict, "%v", err)
				assert.Equal(t, c.after, f.RetryAfter)
			})
		})
	}
}

func TestSecondsAreRoundedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		for wait, want := range map[time.Duration][2]string{
			sec:                    {"1", ""},
			sec + 1:                {"2", "1000.000001"},
			250 * time.Millisecond: {"1", "250"},
		} {
			_, err := api.Otherwise(flowtest.Refuse(wait)).Call(rec.Context(), "a")
			var status *flowtest.StatusError
			require.ErrorAs(t, err, &status)
			assert.Equal(t, want, [2]string{status.Header.Get("Retry-After"), status.Header.Get("Retry-After-Ms")})
		}
	})
}

func TestLimit(t *testing.T) {
	const ok, refused = flowtest.Answered, flowtest.Refused
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		api.Limit(2, 10*sec).Limit(3, time.Minute)
		until := func(d time.Duration) { time.Sleep(d - rec.Elapsed()) }
		assert.Equal(t, []flowtest.Outcome{ok}, outcomes(t, api, "a"))
		until(4 * sec)
		assert.Equal(t, []flowtest.Outcome{ok, refused}, outcomes(t, api, "b", "c"))
		until(10*sec - 1)
		assert.Equal(t, []flowtest.Outcome{refused}, outcomes(t, api, "c"), "not a moment sooner")
		until(11 * sec)
		assert.Equal(t, []flowtest.Outcome{ok, refused}, outcomes(t, api, "c", "d"), "refused ones did not count")
		var waits []time.Duration
		for _, c := range api.Calls().With(refused) {
			waits = append(waits, c.RetryAfter)
		}
		assert.Equal(t, []time.Duration{5999 * time.Millisecond, 1, 48999 * time.Millisecond}, waits, "the last is the longer of two")
		until(60 * sec)
		assert.Equal(t, []flowtest.Outcome{ok}, outcomes(t, api, "d"), "exactly when it said")
	})
}

func TestLimitInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		api.LimitInFlight(2).Otherwise(flowtest.OK().Taking(5 * sec))
		for _, key := range []string{"d", "c", "b", "a"} {
			go func() { _, _ = api.Call(rec.Context(), key) }()
		}
		time.Sleep(5 * sec)
		_, err := api.Call(rec.Context(), "e")
		require.NoError(t, err, "there is room in the instant in which others end")
		assert.Equal(t, `+0s  call api a: ok, took 5s
+0s  call api b: ok, took 5s
+0s  call api c: refused
+0s  call api d: refused
+5s  call api e: ok, took 5s
`, api.Calls().String())
	})
}

func TestRandomLatencies(t *testing.T) {
	draw := func() (took []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			_, api := begin(t)
			api.Otherwise(flowtest.OK().TakingBetween(sec, 2*sec))
			outcomes(t, api, "a", "a", "b")
			for _, c := range api.Calls() {
				took = append(took, c.End-c.Start)
			}
		})
		return took
	}
	took := draw()
	assert.Equal(t, took, draw())
	assert.NotEqual(t, took[0], took[1], "each attempt has its own")
	assert.NotEqual(t, took[0], took[2], "each key has its own")
	for _, d := range took {
		assert.True(t, sec <= d && d <= 2*sec, d)
	}
}

func TestTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		api.At(1, flowtest.Hang(), flowtest.OK().Taking(10*sec), flowtest.OK().Taking(3*sec), flowtest.OK())
		call := func() error {
			ctx, cancel := context.WithTimeoutCause(rec.Context(), 3*sec, errBoom)
			defer cancel()
			_, err := api.Call(ctx, "a")
			return err
		}
		require.ErrorIs(t, call(), errBoom)
		require.ErrorIs(t, call(), errBoom)
		require.NoError(t, call(), "an answer in the last instant still comes")
		ctx, cancel := context.WithCancelCause(rec.Context())
		cancel(errBoom)
		_, err := api.Call(ctx, "a")
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, `+0s  call api a: canceled, took 3s
+3s  call api a, attempt 2 after 0s: canceled, took 3s
+6s  call api a, attempt 3 after 0s: ok, took 3s
`, rec.String(), "the last one was never made")
		require.ErrorContains(t, api.Played(), "the step at call 4 was not played: there were 3 calls")
	})
}

func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		api.At(1, flowtest.Panic("one").Taking(sec)).
			At(2, flowtest.OK().Do(func() { panic("two") })).
			OtherwiseFunc(func(flowtest.Call) flowtest.Step { panic("three") })
		for _, want := range []string{"one", "two", "three"} {
			assert.PanicsWithValue(t, want, func() { _, _ = api.Call(rec.Context(), "a") })
		}
		assert.Len(t, api.Calls().With(flowtest.Panicked), 3)
		assert.Equal(t, sec, api.Calls()[0].End)
	})
}

func TestWhatCannotBePlayed(t *testing.T) {
	rec := flowtest.New(nil)
	api := rec.NewProvider("api").At(5, flowtest.OK())
	for about, c := range map[string]struct {
		build func()
		want  []string
	}{
		"no name":       {func() { rec.NewProvider("") }, []string{`provider "": name: it is empty`}},
		"the same name": {func() { rec.NewProvider("api") }, []string{"there is already a provider of that name"}},
		"call 0":        {func() { api.At(0, flowtest.OK()) }, []string{"At: 0 is below 1"}},
		"a call twice":  {func() { api.At(4, flowtest.OK(), flowtest.OK()) }, []string{"At(5): that call already has a step"}},
		"all problems": {
			func() {
				api.For("k", flowtest.Fail(200), flowtest.Refuse(-1), flowtest.OK().Taking(-1), flowtest.OK().Do(nil))
			},
			[]string{`For("k"): Fail: 200`, "Refuse: -1ns", "TakingBetween: -1ns to -1ns", "Do: the function is nil"},
		},
		"a range":         {func() { api.Otherwise(flowtest.OK().TakingBetween(2, 1)) }, []string{"2ns to 1ns"}},
		"a status":        {func() { api.Otherwise(flowtest.Fail(600)) }, []string{"600"}},
		"no limit":        {func() { api.Limit(0, sec) }, []string{"Limit: 0 in 1s"}},
		"no time":         {func() { api.Limit(1, 0) }, []string{"Limit: 1 in 0s"}},
		"none in flight":  {func() { api.LimitInFlight(0) }, []string{"LimitInFlight: 0 is below 1"}},
		"no rule":         {func() { api.OtherwiseFunc(nil) }, []string{"OtherwiseFunc: the function is nil"}},
		"nothing behind":  {func() { api.Behind(nil) }, []string{"Behind: the round tripper is nil"}},
		"a nil transport": {func() { api.Behind((*http.Transport)(nil)) }, []string{"Behind: the round tripper is nil"}},
	} {
		t.Run(about, func(t *testing.T) {
			defer func() {
				err, ok := recover().(error)
				require.True(t, ok)
				var field *fault.FieldError
				require.ErrorAs(t, err, &field)
				for _, want := range c.want {
					assert.ErrorContains(t, err, want)
				}
			}()
			c.build()
		})
	}
	wrong := flowtest.New(nil).NewProvider("api").OtherwiseFunc(func(flowtest.Call) flowtest.Step { return flowtest.Fail(1) })
	assert.Panics(t, func() { _, _ = wrong.Call(t.Context(), "a") }, "in the goroutine that calls")
}

func TestPlayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := begin(t)
		api.At(2, flowtest.OK(), flowtest.OK()).For("a", flowtest.OK(), flowtest.OK())
		outcomes(t, api, "b", "b", "a")
		require.EqualError(t, api.Played(), `flowtest: provider "api": the step at call 3 was not played: there were 3 calls`+"\n"+
			`flowtest: provider "api": 1 steps for "a" were not played: there were 1 calls about it`)
	})
}

func TestStepsAreValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		runs := 0
		base := flowtest.OK().Header("A", "1").Do(func() { runs++ })
		_ = base.Header("A", "2").Body("other").Do(func() { runs += 10 })
		_ = base.Do(func() { runs += 100 })
		_, header, _ := get(t, rec, api.Otherwise(base), nil)
		assert.Equal(t, "1", header.Get("A"))
		assert.Equal(t, 1, runs)
	})
}

// get sends a request with that body through api.
func get(t *testing.T, rec *flowtest.Record, api *flowtest.Provider, body io.Reader) (status int, header http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(rec.Context(), http.MethodPost, "https://example.com/v1/things", body)
	require.NoError(t, err)
	res, err := api.RoundTrip(req)
	require.NoError(t, err)
	read, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode, res.Header, string(read)
}

// closer notes that it was closed.
type closer struct {
	io.Reader
	closed int
}

func (c *closer) Close() error {
	c.closed++
	return nil
}

func TestRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		api.At(1, flowtest.OK(), flowtest.QuotaExhausted(), flowtest.FailWith(errBoom), flowtest.Hang())
		body := &closer{Reader: strings.NewReader("x")}
		status, _, text := get(t, rec, api, body)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, "POST /v1/things", text)
		assert.Equal(t, 1, body.closed)
		status, _, text = get(t, rec, api, nil)
		assert.Equal(t, http.StatusTooManyRequests, status)
		assert.Contains(t, text, "insufficient_quota")

		ctx, cancel := context.WithTimeoutCause(rec.Context(), sec, errBoom)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com/", nil)
		require.NoError(t, err)
		req.Header.Set("X-Client-Request-Id", "b")
		for range 3 { // FailWith, Hang, and one that is not sent any more
			_, err = api.RoundTrip(req) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, errBoom)
		}
		req.Header.Set("Idempotency-Key", "a")
		_, err = api.RoundTrip(req.WithContext(rec.Context())) //nolint:bodyclose // of no length
		require.NoError(t, err)
		assert.Equal(t, `+0s      call api POST /v1/things: ok
+1ms     call api POST /v1/things, attempt 2 after 0s: failed with 429
+2ms     call api b: failed with boom
+3ms     call api b, attempt 2 after 0s: canceled, took 999ms
+1.002s  call api a: ok
`, rec.String())
	})
}

func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, api := begin(t)
		server, err := providertest.New(providertest.Config{
			Limits:     providertest.Limits{Window: providertest.FixedWindow{Max: 1, Per: time.Minute}},
			RetryAfter: providertest.RetryAfterSeconds,
			Latency:    providertest.Fixed(sec),
		})
		require.NoError(t, err)
		defer server.Close()
		api.At(2, flowtest.Fail(500)).Behind(server.Transport())
		send := func(path, text string) {
			req, err := http.NewRequestWithContext(rec.Context(), http.MethodPost, "https://example.com"+path, strings.NewReader(text))
			require.NoError(t, err)
			res, err := api.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
		}
		const chat, hello = "/v1/chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "hello"}]}`
		send(chat, hello)
		send(chat, hello)
		send(chat, hello)
		send("/nowhere", "")
		_, err = api.Call(rec.Context(), "no request")
		require.NoError(t, err)
		api.Behind(failing{})
		req, err := http.NewRequestWithContext(rec.Context(), http.MethodGet, "https://example.com/lost", nil)
		require.NoError(t, err)
		_, err = api.RoundTrip(req) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, `+0s      call api POST /v1/chat/completions: ok, took 1s
+1s      call api POST /v1/chat/completions, attempt 2 after 0s: failed with 500
+1.001s  call api POST /v1/chat/completions, attempt 3 after 0s: refused, retry after 59s
+1.001s  call api POST /nowhere: failed with 404
+1.001s  call api no request: ok
+1.001s  call api GET /lost: failed with boom
`, rec.String())
		assert.Equal(t, 2, server.Ledger().Admitted+server.Ledger().Refused)
	})
}

type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errBoom }
