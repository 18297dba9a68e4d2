package picture

import (
	"math"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
)

// bar holds the calls of some seconds, as a rate per second.
type bar struct {
	from, to          float64
	answers, refusals float64
	refused           int // in all
}

const mostBars = 75

// bars returns the bars of l: one for each second, or for several seconds in a longer run.
func bars(l *provider.Ledger) (all []bar) {
	s := l.Series
	if s == nil || len(s.Served) == 0 || s.Every <= 0 {
		return nil
	}
	end := max(l.Seconds, float64(len(s.Served)-1)*s.Every, least)
	parts := max(1, int(math.Ceil(wide(end)/s.Every)))
	for i := 0; i < len(s.Served); i += parts {
		to := min(i+parts, len(s.Served))
		b := bar{from: float64(i) * s.Every, to: min(end, float64(i+parts)*s.Every)}
		served := 0
		for k := i; k < to; k++ {
			served += s.Served[k]
			b.refused += s.Refused[k]
		}
		b.answers = float64(served)
		if last := len(all) - 1; last >= 0 && b.to-b.from < float64(parts)*s.Every/4 { // too short to tell a rate
			b.answers += all[last].answers
			b.refused += all[last].refused
			b.from, all = all[last].from, all[:last]
		}
		all = append(all, b)
	}
	for i := range all {
		b := &all[i]
		b.answers /= b.to - b.from
		b.refusals = float64(b.refused) / (b.to - b.from)
	}
	return all
}

// least is the shortest duration of a chart, in seconds.
const least = 1.0

// wide returns the number of seconds per bar for a run of the given length.
func wide(end float64) float64 {
	for power := 1.0; ; power *= 10 {
		for _, by := range []float64{1, 2, 5} {
			if end <= mostBars*by*power {
				return by * power
			}
		}
	}
}
