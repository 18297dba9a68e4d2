package guardtest

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
)

// teapot judges answers with the status 418.
func teapot(f adaptive.Feedback) adaptive.Detector {
	return func(err error) adaptive.Feedback {
		if a, ok := adaptive.AnswerIn(err); ok && a.Status == http.StatusTeapot {
			f.Err = err
			return f
		}
		return adaptive.Feedback{}
	}
}

// verdictCases are about what an answer means, and what is said about it.
func verdictCases() []testCase {
	one := &breaker.Config{Failures: 1, Open: time.Hour}
	tea := Answer{Status: http.StatusTeapot}
	rejects := teapot(adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 2 * time.Second})
	fails := teapot(adaptive.Feedback{Verdict: adaptive.Transient})
	var stale *stales
	return []testCase{
		{
			"a verdict that the call reports is used", given(guard.Policy{Breaker: one, Retry: thrice(), Detector: rejects}),
			[]Call{{Answers: []Answer{{Status: http.StatusTeapot, Reports: &adaptive.Feedback{Verdict: adaptive.OK}}}}, {At: time.Second}},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, Outcome{"status 418", []time.Duration{0}, 0}, o[0])
				equal(t, "done", o[1].Class)
			},
		},
		{
			"the nearest detector judges, for all layers", within(
				guard.Policy{Detector: fails, Retry: thrice()}, guard.Policy{Detector: rejects, Breaker: one},
			),
			answers(tea),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, "done", o[0].Class)
				atLeast(t, o[0].Sent[1], time.Hour) // the breaker outside has opened
			},
		},
		{
			"a detector's rejection is waited out", given(guard.Policy{Detector: rejects}), answers(tea),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, "done", o[0].Class)
				atLeast(t, o[0].Sent[1], 2*time.Second)
			},
		},
		{
			"a final response is not retried", given(guard.Policy{Retry: thrice()}),
			[]Call{
				{Answers: []Answer{{Status: 429, RetryAfter: time.Second, Reports: &adaptive.Feedback{Final: true}}}},
				{At: time.Minute, Answers: []Answer{{Status: 500, Reports: &adaptive.Feedback{Final: true}}}},
			},
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"rate limit", "status 500"}, classes(o))
				equal(t, []time.Duration{0}, o[0].Sent)
				equal(t, []time.Duration{time.Minute}, o[1].Sent)
			},
		},
		{
			"a stale preset is reported once", func() guard.Policy {
				time.Sleep(20 * 365 * 24 * time.Hour) //nolint:forbidigo // in virtual time, which begins in 2000
				stale = new(stales)
				p := guard.Policy{Preset: presets.ID(fmt.Sprintf("us/tier%d", plays.Add(1))), Observer: stale}
				table, err := presets.Parse(fmt.Appendf(nil, oldRow, p.Preset))
				if err != nil {
					panic(err)
				}
				p.Presets = table
				return within(p, p)()
			},
			slices.Concat(times(2, Call{}), times(2, Call{At: time.Second})),
			func(t *testing.T, o []Outcome) {
				t.Helper()
				equal(t, []string{"done", "done", "done", "done"}, classes(o))
				equal(t, int64(1), stale.count.Load())
			},
		},
	}
}

// stales counts the reports of stale presets. A pointer receives each event once, however many layers have it.
type stales struct{ count atomic.Int64 }

func (s *stales) Observe(e event.Event) {
	if e.Kind == event.LimiterStalePreset {
		s.count.Add(1)
	}
}

// plays tells the presets of several plays apart: a process reports each once.
var plays atomic.Int64 //nolint:gochecknoglobals // once per process is the promise

// oldRow is a table of presets with this ID.
const oldRow = `{"sources": {"us": {"title": "our contract", "url": "https://example.com/contract"}}, "presets": [
	{"id": %q, "main": true, "rpm": 1000, "source": "us", "as_of": "2015-01-01", "confidence": "high"}]}`
