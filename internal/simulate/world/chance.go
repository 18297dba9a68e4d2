package world

import (
	"math"
	"math/rand/v2"
)

// Chance is a stream of random numbers. Every purpose gets a stream of its own,
// so that two policies in one world meet the same demand however much one of
// them draws besides.
type Chance struct{ *rand.Rand }

// NewChance returns stream number stream of seed.
func NewChance(seed, stream uint64) Chance {
	return Chance{rand.New(rand.NewPCG(seed, stream))} //nolint:gosec // repeatable on purpose
}

// LogNormal draws from the log-normal distribution with this mean; sigma is
// the standard deviation of the logarithm.
func (c Chance) LogNormal(mean, sigma float64) float64 {
	return mean * math.Exp(sigma*c.NormFloat64()-sigma*sigma/2)
}

// LogUniform draws between low and high, each factor equally likely.
func (c Chance) LogUniform(low, high float64) float64 {
	return low * math.Pow(high/low, c.Float64())
}
