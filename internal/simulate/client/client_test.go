package client_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// script is a policy made of functions; the ones that are missing let everything go.
type script struct {
	admit    func(now time.Duration, c *client.Call, inFlight int) time.Duration
	slack    func(now time.Duration)
	sent     func(now time.Duration, c *client.Call)
	answered func(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (time.Duration, bool)
}

func (s *script) Admit(now time.Duration, c *client.Call, inFlight int) time.Duration {
	if s.admit == nil {
		return 0
	}
	return s.admit(now, c, inFlight)
}

func (s *script) Slack(now time.Duration) {
	if s.slack != nil {
		s.slack(now)
	}
}

func (s *script) Sent(now time.Duration, c *client.Call) {
	if s.sent != nil {
		s.sent(now, c)
	}
}

func (s *script) Answered(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (time.Duration, bool) {
	if s.answered == nil {
		return 0, false
	}
	return s.answered(now, c, inFlight, a)
}

func playing(s *script) client.Contender {
	return client.Contender{Name: "script", New: func(client.Seat) (client.Policy, error) { return s, nil }}
}

// setting is a world in which nothing is left to chance but latency.
func setting(p provider.Config) client.Setting {
	return client.Setting{Provider: p, Latency: time.Second, Net: 10 * time.Millisecond, Refusal: 100 * time.Millisecond, Processes: 1, Pool: 4}
}

func run(t require.TestingT, s client.Setting, c client.Contender) []client.Result {
	results, err := client.Run(s, c, 1, client.Watch{})
	require.NoError(t, err)
	return results
}

// upTo keeps n in flight.
func upTo(n int) func(time.Duration, *client.Call, int) time.Duration {
	return func(_ time.Duration, _ *client.Call, inFlight int) time.Duration {
		if inFlight < n {
			return 0
		}
		return client.Forever
	}
}

func TestTheRefusedAreFirstInLineAgain(t *testing.T) {
	var order []*client.Call
	var refusals []int
	s := &script{
		admit: func(now time.Duration, c *client.Call, inFlight int) time.Duration {
			if len(order) >= 8 {
				return client.Forever
			}
			return upTo(3)(now, c, inFlight)
		},
		sent: func(_ time.Duration, c *client.Call) {
			order, refusals = append(order, c), append(refusals, c.Refusals)
		},
	}
	run(t, setting(provider.Config{Cap: 1}), playing(s))
	assert.Equal(t, []int{0, 0, 0}, refusals[:3])
	for i, c := range order[3:6] {
		assert.Positive(t, refusals[3+i], "nobody fresh goes before the refused")
		assert.Contains(t, order[1:3], c)
	}
}

func TestTheKeptGoToTheEnd(t *testing.T) {
	var order []int
	s := &script{
		admit: upTo(1),
		sent: func(_ time.Duration, c *client.Call) {
			order = append(order, c.Refusals)
		},
		answered: func(_ time.Duration, c *client.Call, _ int, _ *provider.Answer) (time.Duration, bool) {
			return 30 * time.Second, c.Refusals == 1
		},
	}
	results := run(t, setting(provider.Config{Requests: provider.Bucket{PerMinute: 1, Burst: 1}}), playing(s))
	require.Greater(t, len(order), 3)
	assert.Equal(t, []int{0, 0, 0}, order[:3], "while one is kept a fresh one may go")
	assert.Equal(t, results[0].Drawn, results[0].Done+results[0].Left)
}

func TestWhatIsNotedAboutACall(t *testing.T) {
	var total, seq int64
	calls := map[int64]int{} // in flight when it was sent
	flying := 0
	s := &script{
		admit: upTo(5),
		sent: func(now time.Duration, c *client.Call) {
			seq++
			total += c.Reserved
			want, got := [4]int64{seq, total, int64(now), int64(flying)}, [4]int64{c.Seq, c.Total, int64(c.SentAt), int64(c.Others)}
			if want != got || c.Used > c.Reserved || c.Reserved <= 1024 || c.Reserved > 7024 {
				t.Fatalf("%+v, want %v", c, want)
			}
			flying++
			calls[c.Seq]++
		},
		answered: func(now time.Duration, c *client.Call, inFlight int, a *provider.Answer) (time.Duration, bool) {
			flying--
			least := 10 * time.Millisecond // the net, and the refusal
			if a.Admitted {
				least *= 2
			}
			if flying != inFlight || now-c.SentAt <= least {
				t.Fatalf("%d in flight, %s after it was sent", inFlight, now-c.SentAt)
			}
			return 0, false
		},
	}
	w := setting(provider.Config{Cap: 4})
	w.Tokens = true
	results := run(t, w, playing(s))
	assert.Len(t, calls, results[0].Cold.Attempts+results[0].Measured.Attempts)
}

func TestDemandComesAndGoes(t *testing.T) {
	slacks := map[time.Duration]bool{}
	s := &script{
		admit: upTo(2),
		sent: func(now time.Duration, _ *client.Call) {
			if now/(30*time.Second)%2 != 0 {
				t.Fatalf("sent at %s, in a pause", now)
			}
		},
		slack: func(now time.Duration) { slacks[now] = true },
	}
	w := setting(provider.Config{})
	w.OnOff = 30 * time.Second
	run(t, w, playing(s))
	for pause := 30 * time.Second; pause < client.WarmUp+client.Measured; pause += time.Minute {
		assert.True(t, slacks[pause], "at %s nobody waits any more", pause)
	}
}

func TestItemsComeInBursts(t *testing.T) {
	const items, every = 3, time.Minute
	var sent, answered int
	var began time.Duration
	var waited float64
	s := &script{
		admit: upTo(1),
		sent: func(now time.Duration, _ *client.Call) {
			if sent == 0 {
				began = now
			}
			assert.Equal(t, (now-began)/every, time.Duration(sent/items), "a burst of three each minute")
			sent++
		},
		answered: func(now time.Duration, _ *client.Call, _ int, _ *provider.Answer) (time.Duration, bool) {
			if came := began + time.Duration(answered/items)*every; came >= client.WarmUp {
				waited += (now - came).Seconds()
			}
			answered++
			return 0, false
		},
	}
	world := setting(provider.Config{})
	world.Bursts = client.Bursts{Items: items, Every: every}
	got := run(t, world, playing(s))[0]
	assert.Equal(t, items*22, sent)
	assert.InDelta(t, waited, got.Waiting, 1e-6)
}

func TestBurstsEndWithMoreThanCanBeSent(t *testing.T) {
	const until = 10*time.Minute + 30*time.Second
	var sent []time.Duration
	s := &script{
		admit: upTo(1),
		sent:  func(now time.Duration, _ *client.Call) { sent = append(sent, now) },
	}
	world := setting(provider.Config{})
	world.Bursts = client.Bursts{Items: 1, Every: time.Minute, Until: until}
	run(t, world, playing(s))
	require.Greater(t, len(sent), 100)
	assert.Less(t, sent[10], until)
	assert.Equal(t, until, sent[11], "not when the next burst would come")
	assert.Less(t, sent[99], until+3*time.Minute)
}

// Items that are never answered wait until the end.
func TestItemsOfBurstsThatStarveWait(t *testing.T) {
	s := &script{admit: func(time.Duration, *client.Call, int) time.Duration { return client.Forever }}
	world := setting(provider.Config{})
	world.Bursts = client.Bursts{Items: 5, Every: time.Hour}
	got := run(t, world, playing(s))[0]
	assert.InDelta(t, 5*client.Measured.Seconds(), got.Waiting, 1e-6)
	assert.Equal(t, 1, got.Left, "one of them was drawn")
}

func TestWaits(t *testing.T) {
	var asked, events []time.Duration
	s := &script{
		admit: func(now time.Duration, _ *client.Call, inFlight int) time.Duration {
			asked = append(asked, now)
			switch {
			case inFlight == 0:
				return 0
			case now < 5*time.Second:
				return 5*time.Second - now
			default:
				return client.Forever
			}
		},
		answered: func(now time.Duration, _ *client.Call, _ int, _ *provider.Answer) (time.Duration, bool) {
			events = append(events, now)
			return 0, false
		},
	}
	w := setting(provider.Config{})
	w.Latency = 300 * time.Millisecond
	run(t, w, playing(s))
	for _, at := range slices.Compact(asked)[1:] { // the first is the start
		if _, answered := slices.BinarySearch(events, at); !answered && at != 5*time.Second {
			t.Fatalf("asked at %s, between answers and before the wait is over", at)
		}
	}
	assert.Contains(t, asked[:100], 5*time.Second)
}

func TestProcessesJoinLate(t *testing.T) {
	var starts []time.Duration
	var seeds []uint64
	c := client.Contender{New: func(s client.Seat) (client.Policy, error) {
		starts, seeds = append(starts, s.Start), append(seeds, s.Seed)
		first := true
		return &script{admit: func(now time.Duration, _ *client.Call, _ int) time.Duration {
			if first {
				assert.Equal(t, s.Start, now)
			}
			first = false
			return client.Forever
		}}, nil
	}}
	w := setting(provider.Config{})
	w.Processes = 3
	assert.Len(t, run(t, w, c), 3)
	for i, start := range starts {
		assert.Equal(t, i, int(start/(20*time.Second)))
		assert.Less(t, start%(20*time.Second), time.Second)
	}
	assert.NotEqual(t, seeds[0], seeds[1])
}

func TestAPolicyThatCannotStart(t *testing.T) {
	broken := errors.New("broken")
	_, err := client.Run(setting(provider.Config{}), client.Contender{Name: "x", New: func(client.Seat) (client.Policy, error) {
		return nil, broken
	}}, 1, client.Watch{})
	assert.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, `process 0 of "x"`)
}

// Beyond the knee a call takes the longer the more are in flight.
func TestLatencyGrowsBeyondTheKnee(t *testing.T) {
	at := func(knee int) float64 {
		return float64(run(t, setting(provider.Config{Knee: knee}), playing(&script{admit: upTo(40)}))[0].Measured.Admitted)
	}
	assert.InEpsilon(t, at(0)/4, at(10), 0.05)
}

// A policy that lets everything go runs out of sockets, not the simulator out of memory.
func TestSocketsAreFinite(t *testing.T) {
	most := 0
	w := setting(provider.Config{})
	w.Latency = time.Hour
	run(t, w, playing(&script{sent: func(_ time.Duration, c *client.Call) { most = max(most, c.Others) }}))
	assert.Equal(t, 4999, most)
}

func TestAWatch(t *testing.T) {
	var at []time.Duration
	w := setting(provider.Config{})
	_, err := client.Run(w, playing(&script{admit: upTo(2)}), 1, client.Watch{Every: time.Minute, See: func(s client.Sample) {
		at = append(at, s.At)
		if s.At > 0 {
			assert.Equal(t, 2, s.InFlight)
			assert.Equal(t, s.Result.Drawn, s.Result.Done+s.Result.Left)
		}
	}})
	require.NoError(t, err)
	require.Len(t, at, 22)
	assert.Equal(t, 21*time.Minute, at[21])
}

// Whatever the policy does, no item is lost, the tallies agree, and the same
// seed gives the same run.
func TestNoItemIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := setting(provider.Config{
			Cap:      rapid.IntRange(0, 8).Draw(t, "cap"),
			Requests: provider.Bucket{PerMinute: rapid.Float64Range(6, 120).Draw(t, "rate"), Burst: 3},
			Errors:   []provider.Errors{{Share: rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "noise")}},
		})
		w.Processes = rapid.IntRange(1, 3).Draw(t, "processes")
		w.Tokens = rapid.Bool().Draw(t, "tokens")
		w.OnOff = rapid.SampledFrom([]time.Duration{0, 7 * time.Second}).Draw(t, "on-off")
		w.Changes = []provider.Change{{At: time.Minute, Factor: 0.5, Cap: 3}}
		mood := rapid.Uint64().Draw(t, "mood")
		c := client.Contender{New: func(s client.Seat) (client.Policy, error) { return moody(world.NewChance(mood, s.Seed)), nil }}

		results := run(t, w, c)
		for _, r := range results {
			done := r.Cold.Admitted + r.Measured.Admitted
			refused := r.Cold.Refused + r.Measured.Refused
			attempts := r.Cold.Attempts + r.Measured.Attempts
			if r.Drawn != r.Done+r.Left || r.Done > done || done+refused > attempts || attempts-done-refused > r.Left {
				t.Fatalf("%+v", r)
			}
		}
		assert.Equal(t, results, run(t, w, c))
	})
}

// moody waits, keeps and gives back as the mood has it, at most eight in flight.
func moody(mood world.Chance) *script {
	return &script{
		admit: func(_ time.Duration, _ *client.Call, inFlight int) time.Duration {
			switch {
			case inFlight >= 8:
				return client.Forever
			case mood.Float64() < 0.7:
				return time.Duration(1 + mood.Float64()*float64(4*time.Second))
			default:
				return 0
			}
		},
		answered: func(time.Duration, *client.Call, int, *provider.Answer) (time.Duration, bool) {
			return time.Duration(mood.Float64() * float64(5*time.Second)), mood.Float64() < 0.5
		},
	}
}

func TestTheLongestSilenceIsNoted(t *testing.T) {
	const begins = 7 * time.Minute
	s := &script{admit: func(now time.Duration, c *client.Call, inFlight int) time.Duration {
		switch {
		case c.Seq > 0 || now > begins:
			return client.Forever
		case now < begins-time.Minute && now > time.Minute:
			return begins - now
		default:
			return upTo(1)(now, c, inFlight)
		}
	}}
	got := run(t, setting(provider.Config{}), playing(s))[0]
	assert.InDelta(t, (client.WarmUp + client.Measured - begins).Minutes(), got.Silence.Minutes(), 0.2, "to the end")

	w := setting(provider.Config{})
	w.OnOff = 5 * time.Minute
	got = run(t, w, playing(&script{admit: upTo(1)}))[0]
	assert.Less(t, got.Silence, time.Minute, "a pause of the demand is none")
}
