package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Refusals of the rate had a Retry-After lately.
func TestWhatIsUnlikeRefusalsOfTheRate(t *testing.T) {
	empty, left := Told{Known: true, Limit: 10}, Told{Known: true, Limit: 10, Remaining: 5}
	for name, c := range map[string]struct {
		now     float64
		refusal Refusal
		want    bool
	}{
		"without anything":            {remembered - 1, Refusal{}, true},
		"long ago":                    {remembered, Refusal{}, false},
		"with a name":                 {1, Refusal{Names: CallLimit}, false},
		"with meters of what is used": {1, Refusal{Calls: empty}, false},
		"with meters of what is left": {remembered, Refusal{Calls: left}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			r.account(0, Call{}, &Refusal{Asked: 1})
			assert.Equal(t, c.want, r.judgeForeign(c.now, Call{}, &c.refusal))
		})
	}
}

// Those of an overload or of a cap say nothing about how those of the rate look.
func TestOnlyRefusalsOfTheRateShowHowTheyLook(t *testing.T) {
	for name, c := range map[string]struct {
		refusal Refusal
		want    bool
	}{
		"a rate":      {Refusal{Asked: 1}, true},
		"a 503":       {Refusal{Asked: 1, Mild: true}, false},
		"a named cap": {Refusal{Asked: 1, Names: FlightLimit}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := runMachine(Config{})
			r.account(0, Call{}, &c.refusal)
			assert.Equal(t, c.want, r.judgeForeign(1, Call{}, &Refusal{}))
		})
	}
}

func TestRefusalsWithoutARetryAfterThatKeepComingAreOurs(t *testing.T) {
	r := runMachine(Config{})
	r.account(0, Call{}, &Refusal{Asked: 1})
	for range foreignMost {
		assert.True(t, r.judgeForeign(1, Call{}, &Refusal{}))
	}
	assert.False(t, r.judgeForeign(1, Call{}, &Refusal{}))
	assert.False(t, r.judgeForeign(1, Call{}, &Refusal{}), "for good")
	assert.Equal(t, 1, r.reasons(WhyAlike))
}
