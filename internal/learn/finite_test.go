package learn

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// notFinite is the path to the first number in v that is NaN, or infinite although nothing is marked by that.
func notFinite(v reflect.Value, path string) string {
	switch v.Kind() { //nolint:exhaustive // all others hold no number of this kind
	case reflect.Struct:
		for i := range v.NumField() {
			if found := notFinite(v.Field(i), path+"."+v.Type().Field(i).Name); found != "" {
				return found
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if found := notFinite(v.Index(i), path); found != "" {
				return found
			}
		}
	case reflect.Float64:
		mark := path == ".tally.fates.ring.left" || path == ".epoch.at" || path == ".Door.left" || path == ".due"
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) && !mark {
			return path
		}
	}
	return ""
}

// hostile makes up calls and what a provider answers.
type hostile struct{ *rand.Rand }

func (h hostile) pick(from ...float64) float64 { return from[h.IntN(len(from))] }

func (h hostile) amount() float64 {
	return h.pick(0, 1, 100, float64(h.IntN(5000)), float64(int64(1)<<h.IntN(40)))
}

func (h hostile) meter() Told {
	limit := max(1, h.amount())
	return Told{
		Known: h.IntN(2) == 0, Limit: limit, Remaining: h.pick(0, limit, limit/2, limit-1, h.amount()), Reset: h.pick(0, 1e-9, h.Float64(), minute, day),
	}
}

// saved is what a file that was edited by hand may hold.
func (h hostile) saved() Saved {
	number := func() float64 {
		return h.pick(0, -1, tiny, 1, h.Float64(), 1000*h.Float64(), math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64)
	}
	return Saved{
		InFlight: number(), Claimed: h.IntN(2) == 0, Calls: number(), Tokens: number(), Trip: number(), Refusal: number(), PerCall: number(),
		Noise: number(), Window: number(), Short: number(), Long: number(),
	}
}

// during is what happens while calls are out.
func (h hostile) during(m *Machine, now float64, out []Call) {
	switch k := h.IntN(10); {
	case k < 1:
		m.Slack(now)
	case k < 3 && len(out) > 0:
		m.Heard(now, out[h.IntN(len(out))], h.meter(), h.meter())
	}
}

func (h hostile) end(m *Machine, now float64, c Call, inFlight int) {
	switch k := h.IntN(20); {
	case k < 10:
		m.Answered(now, c, Answer{Used: h.amount(), InFlight: inFlight, Calls: h.meter(), Tokens: h.meter()})
	case k < 11:
		m.Unsent(c)
	case k < 12:
		m.Closed(now, c, h.IntN(5) == 0)
	case k < 13:
		m.Signal(now, now-10*h.Float64())
	default:
		m.Refused(now, c, Refusal{
			Asked: h.pick(0, 0, tiny, 1, 10*h.Float64(), 600), Names: Limit(h.IntN(4)), Mild: h.IntN(10) == 0, Slow: h.IntN(50) == 0,
			Calls: h.meter(), Tokens: h.meter(),
		})
	}
}

// Whatever the provider says, and whatever was saved, every number stays finite, and no wait is negative.
func TestNumbersStayFinite(t *testing.T) {
	for seed := range uint64(200) {
		h := hostile{rand.New(rand.NewPCG(seed, 0))}
		config := Config{
			Initial: 4, Max: 200, Seed: seed, Few: 32, Share: h.pick(0, 0.25), CallRate: h.pick(0, tiny, 10), CallBurst: 10,
			TokenRate: h.pick(0, 1, 1e6), TokenBurst: 100,
		}
		if h.IntN(2) == 0 {
			config.Saved = h.saved()
		}
		m := New(config)
		now, next := 0.0, Call{Seq: 1}
		var out []Call
		for step := range 400 {
			if step%20 == 0 {
				require.Empty(t, notFinite(reflect.ValueOf(*m), ""), "seed %d, step %d", seed, step)
			}
			now += h.pick(0, 0, h.Float64(), 100*h.Float64(), day*h.Float64())
			wait := m.Wait(now, next.Tokens, len(out))
			require.GreaterOrEqual(t, wait, 0.0, "seed %d", seed)
			if wait == 0 {
				next.At, next.Others, next.Total = now, len(out), next.Total+next.Tokens
				m.Sent(next)
				out = append(out, next)
				next.Seq, next.Tokens = next.Seq+1, h.amount()
			}
			h.during(m, now, out)
			for len(out) > 0 && h.IntN(2) == 0 {
				i := h.IntN(len(out))
				c := out[i]
				out = append(out[:i], out[i+1:]...)
				h.end(m, now, c, len(out))
			}
		}
		require.Empty(t, notFinite(reflect.ValueOf(*m), ""), "seed %d", seed)
	}
}
