package throttle

import "fmt"

// Unit is what a window counts.
type Unit uint8

const (
	// Requests counts calls.
	Requests Unit = iota
	// Tokens counts input and output tokens together.
	Tokens
	// InputTokens counts prompt tokens.
	InputTokens
	// OutputTokens counts generated tokens.
	OutputTokens
	// Points counts anything else: images, audio seconds, credits.
	Points
	// Units is the number of units.
	Units
)

var unitNames = [Units]string{"requests", "tokens", "input tokens", "output tokens", "points"}

// String returns the plural, such as "requests".
func (u Unit) String() string {
	if u >= Units {
		return fmt.Sprintf("Unit(%d)", uint8(u))
	}
	return unitNames[u]
}
