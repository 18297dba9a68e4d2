package guardtest

import (
	"testing"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// tryCases are about calls that do not wait.
func tryCases() []testCase {
	busy := Answer{Takes: 30 * time.Second}
	return []testCase{
		{
			"a rejected Try returns the time until there is room", given(guard.Policy{Limits: sliding(1, time.Minute)}),
			[]Call{{}, {At: 10 * time.Second, Try: true}, {At: time.Minute, Try: true}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"limited for 50s", nil, 10 * time.Second}, o[1])
				equal(t, "done", o[2].Class)
			},
		},
		{
			"a Try without a free slot returns how long calls take", given(guard.Policy{Limits: throttle.Limits{Concurrency: 1}}),
			[]Call{
				{Answers: []Answer{busy}},
				{At: time.Second, Try: true},
				{At: time.Minute, Answers: []Answer{busy}},
				{At: 61 * time.Second, Try: true},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "limited for 1s", "done", "limited for 30s"}, classes(o))
			},
		},
		{
			"a Try takes from all layers or from none", within(
				guard.Policy{Limits: sliding(1, time.Minute)}, guard.Policy{Limits: throttle.Limits{Concurrency: 1}},
			),
			[]Call{{Key: &guard.Policy{Name: "other"}, Try: true, Answers: []Answer{busy}}, {At: time.Second, Try: true}, {At: time.Minute, Try: true}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "limited for 59s", "done"}, classes(o))
			},
		},
		{
			"a Try makes one attempt", given(guard.Policy{Retry: thrice()}),
			[]Call{
				{Try: true, Answers: []Answer{{Status: 500}}},
				{At: time.Second, Try: true, Answers: []Answer{{Status: 429, RetryAfter: time.Second}}},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"status 500", []time.Duration{0}, 0}, o[0])
				equal(t, Outcome{"rate limit", []time.Duration{time.Second}, time.Second}, o[1])
			},
		},
	}
}
