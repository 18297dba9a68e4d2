package throttle

import "fmt"

// Unit is what a window counts.
type Unit uint8

const (
	// Requests counts calls. A call costs one request unless its Cost says more.
	Requests Unit = iota
	// Tokens counts input and output tokens together, as "tokens per minute" limits do.
	Tokens
	// InputTokens counts prompt tokens, for providers that limit them apart.
	InputTokens
	// OutputTokens counts generated tokens, for providers that limit them apart.
	OutputTokens
	// Points counts whatever else a provider weighs: images, audio seconds, credits.
	Points
	// Units is how many units there are, so that an array can be indexed by Unit.
	Units
)

var unitNames = [Units]string{"requests", "tokens", "input tokens", "output tokens", "points"}

// String returns the unit in lower-case plural, such as "requests".
func (u Unit) String() string {
	if u >= Units {
		return fmt.Sprintf("Unit(%d)", uint8(u))
	}
	return unitNames[u]
}
