package guardtest

import (
	"testing"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// codeCases are about code of users that misbehaves.
func codeCases() []testCase {
	one := throttle.Limits{Concurrency: 1}
	again := func(first Answer) []Call { return []Call{{Answers: []Answer{first}}, {At: time.Second}} }
	second := func(t *testing.T, o []Outcome) {
		t.Helper()
		equal(t, Outcome{"done", []time.Duration{time.Second}, time.Second}, o[1])
	}
	return []testCase{
		{"a panic with nil gives the slot back", given(guard.Policy{Limits: one}), again(Answer{PanicsNil: true}), second},
		{"a call that exits its goroutine gives the slot back", given(guard.Policy{Limits: one}), again(Answer{Exits: true}), second},
		{
			"a detector that panics gives no verdict",
			given(guard.Policy{Limits: one, Detector: func(error) adaptive.Feedback { panic("detector") }}), again(Answer{Status: 500}),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"status 500", "done"}, classes(o))
			},
		},
	}
}
