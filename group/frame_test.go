package group

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

func samples() []frame {
	full := adaptive.Feedback{
		Verdict: adaptive.Hit, Kind: adaptive.KindTokens, RetryAfter: time.Minute, SlowDown: true, Final: true,
		Used: throttle.Cost{Requests: 1, Tokens: 2, Input: 3, Output: 4, Points: throttle.MaxAmount}, Source: "status 429", Err: remoteError("no"),
	}
	full.Meters[throttle.Tokens] = adaptive.Meter{Known: true, Limit: 10, Remaining: -1, Reset: time.Second}
	return []frame{
		{kind: kindHello, data: []byte("{}")},
		{kind: kindPing},
		{kind: kindOpen, key: 1, data: []byte("{}")},
		{kind: kindCarry, key: 1, id: 2, cost: throttle.Cost{Tokens: 3}, wait: time.Second},
		{kind: kindCarried, key: 1},
		{kind: kindAsk, key: 1 << 40, id: -1, cost: throttle.Cost{Requests: 1}, once: true},
		{kind: kindAsk, id: 1 << 40},
		{kind: kindWithdraw, id: 3},
		{kind: kindEnd, id: 3, feedback: full},
		{kind: kindEnd, id: 3, feedback: adaptive.Feedback{Verdict: adaptive.OK}},
		{kind: kindMeters, id: 3, feedback: adaptive.Feedback{Meters: full.Meters}},
		{kind: kindSignal, wait: time.Second, feedback: full},
		{kind: kindRestore, data: []byte("{}")},
		{kind: kindReopen},
		{kind: kindReset},
		{kind: kindGrant, id: 3},
		{kind: kindRefuse, id: 3, wait: time.Second},
		{kind: kindClosed, data: []byte("{}")},
		{kind: kindState, data: []byte("{}")},
		{kind: kindEvent, data: []byte("{}")},
	}
}

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	seen := map[kind]bool{}
	for _, want := range samples() {
		var got frame
		require.NoError(t, got.parse(want.append(nil)[4:]))
		assert.Equal(t, want, got)
		seen[want.kind] = true
	}
	assert.Len(t, seen, int(kinds)-1)
}

type nasty struct{}

func (nasty) Error() string { panic("no") }

func TestTextsInFramesAreBounded(t *testing.T) {
	for err, want := range map[error]string{
		errors.New(strings.Repeat("x", 10_000)): strings.Repeat("x", mostText), nasty{}: "group.nasty",
	} {
		var got frame
		f := frame{kind: kindEnd, feedback: adaptive.Feedback{Err: err}}
		require.NoError(t, got.parse(f.append(nil)[4:]))
		assert.EqualError(t, got.feedback.Err, want)
	}
}

// Bytes of another process are an error or a frame within bounds, which is written
// as it was read.
func FuzzFrame(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.append(nil)[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, again frame
		if got.parse(b) != nil {
			return
		}
		require.NoError(t, again.parse(got.append(nil)[4:]))
		require.Equal(t, got, again)
		for u := range throttle.Units {
			require.GreaterOrEqual(t, got.cost.Of(u), int64(0))
			require.GreaterOrEqual(t, got.feedback.Used.Of(u), int64(0))
		}
		require.LessOrEqual(t, got.feedback.Verdict, adaptive.Unsent)
	})
}

func TestTheShareOfAProcessThatIsAlone(t *testing.T) {
	s := spec{
		Limits: throttle.Limits{Concurrency: 3, Windows: []throttle.Window{throttle.Sliding(100, time.Minute)}},
		Preset: "openai/tier1", Measured: &adaptive.Measured{Prior: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(40, time.Second)}}},
	}
	p := s.policy("k", 0.25)
	assert.Equal(t, 1, p.Limits.Concurrency)
	assert.Equal(t, int64(25), p.Limits.Windows[0].Max())
	assert.InDelta(t, 0.25, p.Share, 0)
	assert.Equal(t, int64(10), p.Law.(adaptive.Measured).Prior.Windows[0].Max())
	assert.Equal(t, int64(100), s.Limits.Windows[0].Max())

	saved, err := s.learned([]byte(`{"law":"measured","version":1,"calls":10,"in_flight":20,"trip":1}`), 0.25)
	require.NoError(t, err)
	assert.JSONEq(t, `{"law":"measured","version":1,"calls":2.5,"in_flight":5,"trip":1}`, string(saved))
	s.AIMD = &adaptive.AIMD{}
	saved, err = s.learned([]byte(`{"law":"aimd","window":2}`), 0.25)
	require.NoError(t, err)
	assert.JSONEq(t, `{"law":"aimd","window":1}`, string(saved))
	_, err = s.learned([]byte(`{"law":"measured"}`), 0.25)
	assert.ErrorAs(t, err, new(*adaptive.SavedError))
}
