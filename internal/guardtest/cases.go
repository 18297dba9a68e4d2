package guardtest

import (
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// testCase is a policy, calls under it, and what has to come of them.
type testCase struct {
	name   string
	policy func() guard.Policy
	calls  []Call
	check  func(t *testing.T, o []Outcome)
}

func given(p guard.Policy) func() guard.Policy { return func() guard.Policy { return p } }

// times is n equal calls.
func times(n int, c Call) []Call { return slices.Repeat([]Call{c}, n) }

func sliding(n int64, per time.Duration) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, per)}}
}

// thrice is a retry policy without a delay that varies.
func thrice() *retry.Policy {
	return &retry.Policy{MaxAttempts: 3, Initial: time.Second, Multiplier: 1, NoJitter: true}
}

// answers is one call with these answers.
func answers(a ...Answer) []Call { return []Call{{Answers: a}} }

func classes(o []Outcome) (all []string) {
	for _, one := range o {
		all = append(all, one.Class)
	}
	return all
}

func cases() []testCase {
	return slices.Concat(limitCases(), waitCases(), tryCases(), failureCases(), verdictCases(), codeCases(), layerCases(), keyCases(), storeCases())
}

func limitCases() []testCase {
	return []testCase{
		{
			"nothing is bounded before the first 429", given(guard.Policy{}),
			times(300, Call{Answers: []Answer{{Takes: time.Second}}}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o {
					equal(t, Outcome{"done", []time.Duration{0}, time.Second}, one)
				}
			},
		},
		{
			"a rate does not bound calls in flight", given(guard.Policy{Limits: sliding(50, time.Second)}),
			times(100, Call{Answers: []Answer{{Takes: 30 * time.Second}}}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				late := 0
				for _, one := range o {
					if one.Sent[0] == time.Second {
						late++
					}
				}
				equal(t, 50, late)
			},
		},
		{
			"calls in flight are capped", given(guard.Policy{Limits: throttle.Limits{Concurrency: 2}}),
			times(6, Call{Answers: []Answer{{Takes: time.Second}}}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				last := time.Duration(0)
				for _, one := range o {
					last = max(last, one.Ended)
				}
				equal(t, 3*time.Second, last)
			},
		},
		{
			"a preset starts with what the provider documents", given(guard.Policy{Preset: presets.OpenAITier1}),
			times(40, Call{Cost: throttle.Cost{Tokens: 10}, Answers: []Answer{{Takes: 20 * time.Second}}}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o {
					atMost(t, one.Sent[0], 10*time.Second)
				}
			},
		},
		{
			"a call that can never fit is an error", given(guard.Policy{Limits: sliding(3, time.Second)}),
			[]Call{{Cost: throttle.Cost{Requests: 4}}, {Cost: throttle.Cost{Requests: 3}}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"never fits", "done"}, classes(o))
			},
		},
		{
			"usage corrects the reservation", given(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{
				throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
			}}}),
			[]Call{
				{Cost: throttle.Cost{Tokens: 100}, Answers: []Answer{{Takes: time.Second, Used: throttle.Cost{Tokens: 10}}}},
				{At: time.Millisecond, Cost: throttle.Cost{Tokens: 90}},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []time.Duration{time.Second}, o[1].Sent)
			},
		},
		{
			"usage is charged up to one window", given(guard.Policy{Limits: throttle.Limits{Windows: []throttle.Window{
				throttle.Sliding(100, time.Minute).Of(throttle.Tokens),
			}}}),
			[]Call{
				{Cost: throttle.Cost{Tokens: 10}, Answers: []Answer{{Takes: time.Second, Used: throttle.Cost{Tokens: 1e9}}}},
				{At: 2 * time.Second, Cost: throttle.Cost{Tokens: 90}},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				atMost(t, o[1].Sent[0], 62*time.Second)
			},
		},
		{
			"each request on the wire is charged", given(guard.Policy{Limits: sliding(4, time.Minute)}),
			[]Call{{Answers: []Answer{{Wire: 3}}}, {At: time.Second}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []time.Duration{time.Second}, o[1].Sent)
				equal(t, []time.Duration{time.Minute}, o[2].Sent)
			},
		},
	}
}

func waitCases() []testCase {
	hit := func(after time.Duration) Answer { return Answer{Status: 429, RetryAfter: after} }
	return []testCase{
		{
			"a 429 is waited out and does not count as an attempt", given(guard.Policy{Retry: &retry.Policy{MaxAttempts: 1}}), answers(hit(3*time.Second), hit(2*time.Second)),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, "done", o[0].Class)
				equal(t, 3, len(o[0].Sent))
				atLeast(t, o[0].Sent[1], 3*time.Second)
			},
		},
		{
			"a 429 keeps its place", given(guard.Policy{Limits: sliding(1, 10*time.Second)}),
			[]Call{{Answers: []Answer{hit(time.Second)}}, {At: time.Second}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []time.Duration{0, 10 * time.Second}, o[0].Sent)
				equal(t, []time.Duration{20 * time.Second}, o[1].Sent)
			},
		},
		{
			"a 429 takes effect with its header", given(guard.Policy{}),
			[]Call{{Answers: []Answer{{Status: 429, RetryAfter: 5 * time.Second, Drips: time.Hour}}}, {At: 100 * time.Millisecond}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "done"}, classes(o))
				equal(t, 2, len(o[0].Sent))
				atLeast(t, o[1].Sent[0], 5*time.Second)
				atMost(t, o[0].Ended, 8*time.Second) // not more than two seconds of the body are read
			},
		},
		{
			"a Retry-After of an hour is returned to the caller", given(guard.Policy{}), answers(hit(time.Hour)),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"rate limit", []time.Duration{0}, 0}, o[0])
			},
		},
		{
			"MaxWait bounds the first admission", given(guard.Policy{MaxWait: 5 * time.Second, Limits: sliding(1, time.Minute)}),
			[]Call{{}, {At: time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"limited for 54s", nil, 6 * time.Second}, o[1])
			},
		},
		{
			"MaxWait bounds the wait after a 429", given(guard.Policy{MaxWait: 5 * time.Second}), answers(hit(time.Minute)),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, "rate limit", o[0].Class)
				equal(t, 5*time.Second, o[0].Ended)
			},
		},
		{
			"MaxQueue turns calls away", given(guard.Policy{MaxQueue: 1, Limits: throttle.Limits{Concurrency: 1}}),
			[]Call{{Answers: []Answer{{Takes: 9 * time.Second}}}, {At: time.Second}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "done", "limited for 1s"}, classes(o))
				equal(t, 2*time.Second, o[2].Ended)
			},
		},
		{
			"a deadline before the earliest admission fails at once", given(guard.Policy{Limits: sliding(1, time.Minute)}),
			[]Call{{}, {At: time.Second, Deadline: 30 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"too late", nil, time.Second}, o[1])
			},
		},
		{
			"a context that ends while the call waits", given(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}),
			[]Call{{Answers: []Answer{{Takes: 9 * time.Second}}}, {At: time.Second, Deadline: 3 * time.Second}, {At: 2 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"deadline", nil, 4 * time.Second}, o[1])
				equal(t, []time.Duration{9 * time.Second}, o[2].Sent)
			},
		},
	}
}

func failureCases() []testCase {
	broken := Answer{Status: 500}
	return []testCase{
		{
			"a 500 is retried", given(guard.Policy{Retry: thrice()}), answers(broken, broken, broken, broken),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"status 500", []time.Duration{0, time.Second, 2 * time.Second}, 2 * time.Second}, o[0])
			},
		},
		{
			"MaxWait bounds the waits before retries", given(guard.Policy{MaxWait: 1500 * time.Millisecond, Retry: thrice()}), answers(broken, broken, broken),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"status 500", []time.Duration{0, time.Second}, time.Second}, o[0])
			},
		},
		{
			"a 400 is not retried", given(guard.Policy{Retry: thrice()}), answers(Answer{Status: 400}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"status 400", []time.Duration{0}, 0}, o[0])
			},
		},
		{
			"nothing is held between attempts", given(guard.Policy{Retry: thrice(), Limits: throttle.Limits{Concurrency: 1}}),
			[]Call{{Answers: []Answer{broken}}, {At: 500 * time.Millisecond}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []time.Duration{500 * time.Millisecond}, o[1].Sent)
			},
		},
		{
			"a used-up quota stops other calls, and is probed", given(guard.Policy{}),
			[]Call{
				{Answers: []Answer{{Status: 402}}},
				{At: time.Second},
				{At: 61 * time.Second, Answers: []Answer{{Status: 402}}},
				{At: 2 * time.Minute},
				{At: 182 * time.Second},
				{At: 183 * time.Second},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				out := "quota exhausted"
				equal(t, []string{out, out, out, out, "done", "done"}, classes(o))
				equal(t, 0, len(o[1].Sent))
				equal(t, 0, len(o[3].Sent))
			},
		},
		{
			"a breaker opens, and a 429 does not open it", given(guard.Policy{Breaker: &breaker.Config{Failures: 2, Open: time.Minute}}),
			[]Call{
				{Answers: []Answer{{Status: 429, RetryAfter: time.Second}, broken}},
				{At: 2 * time.Second, Answers: []Answer{broken}},
				{At: 3 * time.Second},
				{At: 70 * time.Second},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"status 500", "status 500", "breaker open", "done"}, classes(o))
			},
		},
		{
			"an open breaker undoes the admission", given(guard.Policy{Breaker: &breaker.Config{Failures: 1, Open: 10 * time.Second}, Limits: sliding(2, time.Minute)}),
			[]Call{{Answers: []Answer{broken}}, {At: time.Second}, {At: 20 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"status 500", "breaker open", "done"}, classes(o))
				equal(t, []time.Duration{20 * time.Second}, o[2].Sent)
			},
		},
		{
			"a panic is a failure for the breaker", given(guard.Policy{Breaker: &breaker.Config{Failures: 1, Open: time.Hour}}),
			[]Call{{Answers: []Answer{{Panics: "oh"}}}, {At: time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"panic", "breaker open"}, classes(o))
			},
		},
		{
			"a call that ignores its timeout is abandoned", given(guard.Policy{Timeout: time.Second, Limits: throttle.Limits{Concurrency: 1}}),
			[]Call{{Answers: []Answer{{Takes: 6 * time.Second, Deaf: true}}}, {At: 500 * time.Millisecond}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"hung", []time.Duration{0}, 2 * time.Second}, o[0])
				equal(t, []time.Duration{2 * time.Second}, o[1].Sent)
			},
		},
		{
			"a timeout bounds each attempt", given(guard.Policy{Timeout: time.Second, Retry: thrice()}), answers(Answer{Takes: time.Hour}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"done", []time.Duration{0, 2 * time.Second}, 2 * time.Second}, o[0])
			},
		},
		{
			"a panic is an error and is not retried", given(guard.Policy{Retry: thrice(), Limits: throttle.Limits{Concurrency: 1}}), answers(Answer{Panics: "oh"}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"panic", []time.Duration{0}, 0}, o[0])
			},
		},
	}
}
