package law_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/throttle"
)

// spy is a law that notes what it hears.
type spy struct {
	began     time.Time
	asked     []throttle.Cost
	inFlight  []int
	slack     []time.Time
	sent      []throttle.Sent
	feedbacks []adaptive.Feedback
}

func (s *spy) Start(now time.Time, _ uint64) (adaptive.State, error) {
	s.began = now
	return s, nil
}

func (s *spy) Admit(_ time.Time, c throttle.Cost, inFlight int) time.Duration {
	s.asked, s.inFlight = append(s.asked, c), append(s.inFlight, inFlight)
	return time.Duration(inFlight) * time.Second
}
func (s *spy) Slack(now time.Time)                        { s.slack = append(s.slack, now) }
func (s *spy) OnSend(_ time.Time, x throttle.Sent)        { s.sent = append(s.sent, x) }
func (s *spy) OnSignal(time.Time, *adaptive.RateLimitHit) {}
func (s *spy) OnResult(_ time.Time, x throttle.Sent, inFlight int, f adaptive.Feedback) {
	s.sent, s.inFlight, s.feedbacks = append(s.sent, x), append(s.inFlight, inFlight), append(s.feedbacks, f)
}

func (s *spy) View() adaptive.View {
	return adaptive.View{Concurrency: 7, Pace: [throttle.Units]float64{1, 2}, Bound: "why"}
}

func drive(t *testing.T, s *spy) client.Policy {
	t.Helper()
	c := law.Drive("spy", s, true)
	assert.True(t, c.Headers)
	p, err := c.New(client.Seat{Start: 5 * time.Second})
	require.NoError(t, err)
	return p
}

func TestALawHearsWhatALimiterTells(t *testing.T) {
	s := &spy{}
	p := drive(t, s)
	zero := s.began.Add(-5 * time.Second)
	call := &client.Call{Reserved: 120, Guess: 100, Used: 40, Seq: 3, SentAt: 6 * time.Second, Others: 2, Total: 250}
	want := throttle.Sent{
		Seq: 3, At: zero.Add(6 * time.Second), InFlight: 2,
		Cost: throttle.Cost{Requests: 1, Tokens: 100}, Total: throttle.Cost{Requests: 3, Tokens: 250},
	}

	assert.Equal(t, 2*time.Second, p.Admit(6*time.Second, call, 2))
	p.Sent(6*time.Second, call)
	_, keep := p.Answered(9*time.Second, call, 1, &provider.Answer{Admitted: true})
	assert.False(t, keep)
	p.Slack(10 * time.Second)

	assert.Equal(t, []throttle.Cost{want.Cost}, s.asked)
	assert.Equal(t, []int{2, 1}, s.inFlight)
	assert.Equal(t, []throttle.Sent{want, want}, s.sent)
	assert.Equal(t, []time.Time{zero.Add(10 * time.Second)}, s.slack)
	assert.Equal(t, client.Gauge{Window: 7, Pace: 1, TokenPace: 2, Bound: "why"}, p.(client.Gauged).Gauge())
}

func TestFeedback(t *testing.T) {
	full := provider.Meter{Known: true, Limit: 600, Remaining: 3, Reset: time.Second}
	for about, c := range map[string]struct {
		call   client.Call
		answer provider.Answer
		want   adaptive.Feedback
	}{
		"a success":             {client.Call{}, provider.Answer{Admitted: true}, adaptive.Feedback{Verdict: adaptive.OK}},
		"that settles":          {client.Call{Reserved: 9, Used: 4}, provider.Answer{Admitted: true}, adaptive.Feedback{Verdict: adaptive.OK, Used: throttle.Cost{Requests: 1, Tokens: 4}}},
		"a refusal costs none":  {client.Call{Reserved: 9, Used: 4}, provider.Answer{}, adaptive.Feedback{Verdict: adaptive.Hit}},
		"and says when":         {client.Call{}, provider.Answer{RetryAfter: time.Minute}, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute}},
		"or that it was calls":  {client.Call{}, provider.Answer{Limit: provider.Requests}, adaptive.Feedback{Verdict: adaptive.Hit, Kind: adaptive.KindRequests}},
		"or tokens":             {client.Call{}, provider.Answer{Limit: provider.Tokens}, adaptive.Feedback{Verdict: adaptive.Hit, Kind: adaptive.KindTokens}},
		"or that it was a cap":  {client.Call{}, provider.Answer{Limit: provider.Concurrency}, adaptive.Feedback{Verdict: adaptive.Hit, Kind: adaptive.KindConcurrency}},
		"headers are passed on": {client.Call{}, provider.Answer{Admitted: true, Tokens: full}, adaptive.Feedback{Verdict: adaptive.OK, Meters: [throttle.Units]adaptive.Meter{throttle.Tokens: adaptive.Meter(full)}}},
	} {
		t.Run(about, func(t *testing.T) {
			s := &spy{}
			drive(t, s).Answered(0, &c.call, 0, &c.answer)
			assert.Equal(t, []adaptive.Feedback{c.want}, s.feedbacks)
		})
	}
}

type broken struct{ error }

func (b broken) Start(time.Time, uint64) (adaptive.State, error) { return nil, b }

func TestALawThatCannotStart(t *testing.T) {
	b := broken{errors.New("no")}
	_, err := law.Drive("broken", b, false).New(client.Seat{})
	assert.Equal(t, b, err)
}

// Every law of the list is playable, deterministic, and only those that say so see headers.
func TestTheList(t *testing.T) {
	names := map[string]bool{}
	for _, c := range law.All() {
		assert.False(t, names[c.Name])
		names[c.Name] = true
		assert.Equal(t, c.Name == law.Headers, c.Headers)
		setting := client.Setting{
			Provider: provider.Config{Requests: provider.Bucket{PerMinute: 600, Burst: 10}, RetryAfter: provider.WholeSeconds},
			Latency:  time.Second, Net: 20 * time.Millisecond, Refusal: 150 * time.Millisecond, Processes: 2,
		}
		one, err := client.Run(setting, c, 1, client.Watch{})
		require.NoError(t, err)
		again, err := client.Run(setting, c, 1, client.Watch{})
		require.NoError(t, err)
		assert.Equal(t, one, again, c.Name)
		assert.Greater(t, one[0].Measured.Admitted+one[1].Measured.Admitted, 8000, c.Name)
	}
}
