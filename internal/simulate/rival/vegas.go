package rival

import (
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/world"
)

// vegas is VegasLimit of Netflix concurrency-limits with its defaults: the
// queue at the server is estimated from latency, and kept within alpha and beta.
type vegas struct {
	size   float64
	unload time.Duration // the latency without load
	count  int           // samples since that was measured anew
	jitter float64
	chance world.Chance
}

func newVegas(seed uint64) *vegas {
	return &vegas{size: 20, jitter: 0.75, chance: world.NewChance(seed, probeStream)}
}

// remeasure is after how many windows of samples, jittered, the latency without load is forgotten.
const remeasure = 30

func (v *vegas) most() int { return int(v.size) }

func (v *vegas) sample(_, took time.Duration, inFlight int, refused bool) {
	v.count++
	if float64(v.count) >= v.jitter*remeasure*v.size {
		v.jitter, v.count, v.unload = 0.5+0.5*v.chance.Float64(), 0, took
		return
	}
	if v.unload == 0 || took < v.unload {
		v.unload = took
		return
	}
	v.size = min(mostWorkers, max(1, v.size+v.step(took, inFlight, refused)))
}

func (v *vegas) step(took time.Duration, inFlight int, refused bool) float64 {
	unit := max(1, math.Floor(math.Log10(max(1, math.Floor(v.size)))))
	queue := math.Ceil(v.size * (1 - float64(v.unload)/float64(took)))
	alpha, beta := 3*unit, 6*unit
	switch {
	case refused:
		return -unit
	case float64(inFlight)*2 < v.size:
		return 0
	case queue <= unit:
		return beta
	case queue < alpha:
		return unit
	case queue > beta:
		return -unit
	default:
		return 0
	}
}
