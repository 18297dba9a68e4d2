package guard_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// A gateway rejects one call in a hundred at random, and asks for ten seconds each time. There is no limit.
func TestRandomRejectionsThatAskForALongWaitCostNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, luck := newServer(1e6, 1e6), rand.New(rand.NewPCG(1, 2))
		s.answer = func(time.Duration, bool) adaptive.Feedback {
			if luck.Float64() < 0.01 {
				return rejected(10 * time.Second)
			}
			return taken
		}
		took := s.work(t, guard.Policy{}, 20_000, 32, throttle.Cost{}, 24*time.Hour)
		assert.Less(t, took, 15*time.Minute, "less than 4 are possible; it takes 46 if each is believed")
	})
}

// The same beside a cap that the provider names.
func TestARandomRejectionThatAsksForAWaitEndsNoCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, luck := newServer(1e6, 1e6), rand.New(rand.NewPCG(1, 2))
		shedding(s, 8, adaptive.Feedback{Verdict: adaptive.Hit, Kind: adaptive.KindConcurrency})
		capped := s.answer
		s.answer = func(at time.Duration, admitted bool) adaptive.Feedback {
			if luck.Float64() < 0.02 {
				return rejected(5 * time.Second)
			}
			return capped(at, admitted)
		}
		took := s.work(t, guard.Policy{}, 10_000, 32, throttle.Cost{}, 24*time.Hour)
		assert.Less(t, took, 15*time.Minute, "7 are possible; it takes 44 if each is believed")
		assert.Less(t, s.refused, 600, "200 at random; 4,200 if one of these ends the cap")
	})
}
