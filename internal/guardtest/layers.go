package guardtest

import (
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// within is p within guards of the policies outer.
func within(p guard.Policy, outer ...guard.Policy) func() guard.Policy {
	return func() guard.Policy {
		p := p
		for _, o := range outer {
			g, err := guard.New(o)
			if err != nil {
				panic(err)
			}
			p.Within = append(p.Within, g)
		}
		return p
	}
}

func layerCases() []testCase {
	return []testCase{
		{
			"limits of all layers hold", within(guard.Policy{Limits: sliding(3, time.Second)}, guard.Policy{Limits: sliding(4, 10*time.Second)}),
			times(6, Call{}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				var sent []time.Duration
				for _, one := range o {
					sent = append(sent, one.Sent...)
				}
				slices.Sort(sent)
				equal(t, []time.Duration{0, 0, 0, time.Second, 10 * time.Second, 10 * time.Second}, sent)
			},
		},
		{
			"settings are inherited", within(guard.Policy{}, guard.Policy{Retry: thrice(), Timeout: time.Second}), answers(Answer{Takes: time.Hour}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []time.Duration{0, 2 * time.Second}, o[0].Sent)
			},
		},
		{
			"the nearest setting counts", within(
				guard.Policy{Retry: thrice(), Timeout: 2 * time.Second},
				guard.Policy{Retry: &retry.Policy{MaxAttempts: 1}, Timeout: time.Second},
			),
			answers(Answer{Takes: time.Hour}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []time.Duration{0, 3 * time.Second}, o[0].Sent)
			},
		},
		{
			"a call that hung is not retried and is a failure for its breakers", within(
				guard.Policy{Retry: thrice()},
				guard.Policy{Timeout: time.Second, Breaker: &breaker.Config{Failures: 1, Open: time.Hour}},
			),
			[]Call{{Answers: []Answer{{Takes: 6 * time.Second, Deaf: true}}}, {At: 10 * time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"hung", []time.Duration{0}, 2 * time.Second}, o[0])
				atLeast(t, o[1].Sent[0], time.Hour)
			},
		},
		{
			"a 429 is learned by the outer guard", within(guard.Policy{}, guard.Policy{Law: adaptive.AIMD{Initial: 4, Max: 4}}),
			slices.Concat(answers(Answer{Status: 429, RetryAfter: 5 * time.Second}), times(3, Call{At: time.Second})),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o[1:] {
					atLeast(t, one.Sent[0], 5*time.Second)
				}
			},
		},
	}
}

// keyCases are about calls that need a guard of their own besides, such as that
// of a host or a user.
func keyCases() []testCase {
	slow, fast := &guard.Policy{Name: "slow", Limits: sliding(1, time.Minute)}, &guard.Policy{Name: "fast", Limits: sliding(100, time.Second)}
	steady, other := &guard.Policy{Name: "steady", Limits: sliding(1, time.Second)}, &guard.Policy{Name: "other", Limits: sliding(100, time.Second)}
	between := &guard.Policy{Name: "between", Limits: sliding(1, 700*time.Millisecond)} // has room again while a call is in flight
	ours, theirs := &guard.Policy{Name: "ours", Law: adaptive.AIMD{}}, &guard.Policy{Name: "theirs", Law: adaptive.AIMD{}}
	keyed := func(key *guard.Policy, at time.Duration, n int) []Call { return times(n, Call{Key: key, At: at}) }
	var busy []Call // there is always one that waits, and none comes when another ends
	for i := range 60 {
		busy = append(busy, Call{At: time.Duration(i) * 887 * time.Millisecond, Answers: []Answer{{Takes: time.Second}}})
	}
	return []testCase{
		{
			"a call that waits for its key holds nothing", given(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}),
			slices.Concat(keyed(slow, 0, 4), keyed(fast, time.Second, 5), keyed(nil, time.Second, 1)),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o[4:] {
					equal(t, []time.Duration{time.Second}, one.Sent)
				}
			},
		},
		{
			"calls of one key are served in order", given(guard.Policy{Limits: throttle.Limits{Concurrency: 3}}),
			[]Call{{Key: steady}, {Key: steady, At: 1}, {Key: steady, At: 2}, {Key: steady, At: 3}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for i, one := range o {
					equal(t, []time.Duration{time.Duration(i) * time.Second}, one.Sent)
				}
			},
		},
		{
			"keys share the outer limit evenly", given(guard.Policy{Limits: sliding(1, time.Second)}),
			slices.Concat(keyed(fast, 0, 8), keyed(other, time.Millisecond, 4)),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o[8:] { // every second turn
					atMost(t, one.Sent[0], 8*time.Second)
				}
			},
		},
		{
			"a call that needs two limits is not overtaken for ever", given(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}),
			slices.Concat(busy, times(3, Call{Key: between, At: 5050 * time.Millisecond, Answers: []Answer{{Takes: 10 * time.Millisecond}}})),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for i, one := range o[len(busy):] { // every second turn
					equal(t, []time.Duration{6*time.Second + time.Duration(i)*1010*time.Millisecond}, one.Sent)
				}
			},
		},
		{
			"a used-up quota closes only the guard it belongs to", given(guard.Policy{}),
			[]Call{
				{Key: ours, Answers: []Answer{{Status: 402}}},
				{Key: ours, At: time.Second},
				{Key: theirs, At: time.Second},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"quota exhausted", "quota exhausted", "done"}, classes(o))
				equal(t, 0, len(o[1].Sent))
			},
		},
		{
			"a guard that is reached twice counts once", within(guard.Policy{}, guard.Policy{Limits: sliding(2, time.Minute)}),
			keyed(fast, 0, 2),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				for _, one := range o {
					equal(t, []time.Duration{0}, one.Sent)
				}
			},
		},
	}
}
