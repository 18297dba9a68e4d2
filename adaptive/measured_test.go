package adaptive_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/throttle"
)

func TestMeasuredNamesEveryFieldThatIsWrong(t *testing.T) {
	err := adaptive.Measured{Initial: 30, Max: 20, Prior: throttle.Limits{Concurrency: -1}}.Validate()
	var field *fault.FieldError
	require.ErrorAs(t, err, &field)
	assert.ErrorContains(t, err, "Initial: 30 is not between 1 and Max, which is 20")
	assert.ErrorContains(t, err, "Prior: throttle: Concurrency: -1 is negative")
	require.ErrorContains(t, adaptive.Measured{Max: -1}.Validate(), "Max: -1 is below 1")
	require.NoError(t, adaptive.Measured{}.Validate())
}

func TestMeasuredIsTheDefault(t *testing.T) {
	assert.Equal(t, adaptive.Measured{Initial: 4, Max: 200}, adaptive.Measured{}.WithDefaults())
	assert.Equal(t, 3, adaptive.Measured{Max: 3}.WithDefaults().Initial)
	tier5 := throttle.Limits{Windows: []throttle.Window{
		throttle.Sliding(10_000, time.Minute), throttle.Sliding(1_000_000, time.Minute).Of(throttle.Tokens),
	}}
	assert.Equal(t, 3334, adaptive.Measured{Prior: tier5}.WithDefaults().Max, "10,000 a minute, of 20 s each")
	assert.Equal(t, 200, adaptive.Measured{Prior: tier5, Max: 200}.WithDefaults().Max)
	assert.Equal(t, 9, adaptive.Measured{Prior: throttle.Limits{Concurrency: 9}}.WithDefaults().Initial)
}

// A Prior that is counted by the minute lets a small job go at once.
func TestAPriorOfMinutesBeginsWithABurst(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	tokens := throttle.Sliding(3_000, minute).Of(throttle.Tokens)
	for about, c := range map[string]struct {
		windows []throttle.Window
		tokens  int64 // of each call
		want    int
	}{
		"a minute":                  {[]throttle.Window{throttle.Sliding(60, minute)}, 0, 32},
		"a small one":               {[]throttle.Window{throttle.Sliding(5, minute)}, 0, 5},
		"the least of several":      {[]throttle.Window{throttle.Sliding(60, minute), throttle.Sliding(20, hour)}, 0, 20},
		"in any order":              {[]throttle.Window{throttle.Sliding(20, hour), throttle.Sliding(60, minute)}, 0, 20},
		"seconds":                   {[]throttle.Window{throttle.Sliding(10, time.Second), throttle.Sliding(300, minute)}, 0, 1},
		"a bucket holds its burst":  {[]throttle.Window{throttle.Bucket(10, 7)}, 0, 7},
		"a minute's tokens":         {[]throttle.Window{throttle.Sliding(60, minute), tokens}, 250, 12},
		"tokens that allow no call": {[]throttle.Window{throttle.Sliding(60, minute), tokens}, 5_000, 1},
		"only tokens":               {[]throttle.Window{tokens}, 250, 12},
	} {
		s, err := adaptive.Measured{Initial: 100, Prior: throttle.Limits{Windows: c.windows}}.Start(time.Unix(0, 0), 1)
		require.NoError(t, err)
		sent := throttle.Sent{At: time.Unix(0, 0)}
		sent.Cost = throttle.Cost{Requests: 1, Tokens: c.tokens}
		for s.Admit(sent.At, sent.Cost, int(sent.Seq)) == 0 && sent.Seq < 100 {
			sent.Seq++
			sent.Total = throttle.Cost{Requests: sent.Seq, Tokens: sent.Total.Tokens + c.tokens}
			s.OnSend(sent.At, sent)
		}
		assert.EqualValues(t, c.want, sent.Seq, about)
	}
}

// A pace that grows fast does so for one of several reasons.
func TestExplainSaysWhyThePaceRises(t *testing.T) {
	second := throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Second)}}
	left := adaptive.Feedback{Verdict: adaptive.OK}
	left.Meters[throttle.Requests] = adaptive.Meter{Known: true, Limit: 60, Remaining: 59, Reset: time.Second}
	for want, c := range map[string]struct {
		law    adaptive.Measured
		answer adaptive.Feedback
		last   adaptive.Feedback
	}{
		"the headers show quota left":  {adaptive.Measured{Prior: second}, left, left},
		"until the second measurement": {adaptive.Measured{}, of(adaptive.OK), hitAfter(time.Second)},
		"the limit has risen":          {adaptive.Measured{Prior: second}, of(adaptive.OK), of(adaptive.OK)},
	} {
		m := start(t, c.law)
		for range 20 {
			m.trip(5, 100*time.Millisecond, c.answer)
			m.admit(1)
		}
		m.trip(1, 100*time.Millisecond, c.last)
		for m.after(2 * time.Second); m.admit(1) == 0; {
			m.send(1)
		}
		assert.Contains(t, m.State.(adaptive.Explainer).Explain(m.now), want)
	}
}

func TestATimeOfMeasuredIsRightAfterYears(t *testing.T) {
	start := time.Unix(0, 0)
	s, err := adaptive.Measured{}.Start(start, 1)
	require.NoError(t, err)
	now := start.Add(2 * 365 * 24 * time.Hour)
	sent := throttle.Sent{Seq: 1, At: now}
	s.OnSend(now, sent)
	s.OnResult(now, sent, 0, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: 5 * time.Second})
	v := s.View()
	assert.WithinDuration(t, now, v.GateUntil, 6*time.Second)
	decisions := slices.Collect(v.Decisions.Since(0))
	require.NotEmpty(t, decisions)
	for _, d := range decisions {
		assert.WithinDuration(t, now, d.At, time.Second)
	}
}
