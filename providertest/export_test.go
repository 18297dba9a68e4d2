package providertest

import (
	"math/rand/v2"
	"time"
)

// What errors and arrivals hold, by name.
type (
	ConfigError = configError
	Refusal     = string
)

// The limits that reject a request.
const (
	RefusedTokens      = string(refusedTokens)
	RefusedInputTokens = string(refusedInputTokens)
	RefusedTooLarge    = string(refusedTooLarge)
	NoRetryAfter       = noRetryAfter
)

// ByKey returns how many times each key was served.
func (l Ledger) ByKey() map[string]int { return l.byKey() }

// Panicking is a latency that cannot be drawn.
type Panicking struct{}

func (Panicking) draw(*rand.Rand) time.Duration { panic("broken") }
