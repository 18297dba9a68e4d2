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

func TestForeignRefusalsThatKeepComingAreOurs(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls int // between two of them
		want  int // which is one too many; 0: none
	}{{"one after the other", 0, 11}, {"with calls between", 4, 16}, {"now and then", 10, 0}} {
		t.Run(c.name, func(t *testing.T) {
			var f Foreign
			first := 0
			for i := 1; i <= 50 && first == 0; i++ {
				if f.Count() {
					first = i
				}
				for range c.calls {
					f.Sent()
				}
			}
			assert.Equal(t, c.want, first)
			if first > 0 {
				assert.False(t, f.Count(), "counted anew")
			}
		})
	}
}

// Refusals named the cap, and do not any more.
func TestRefusalsThatNoLongerNameTheCapAreAboutIt(t *testing.T) {
	named := func(at float64) *machineRun {
		r := hoversAtTen(true)
		for range several {
			r.Answered(at+0.1, r.send(at), Answer{})
		}
		r.Refused(at+0.5, r.send(at+0.4), Refusal{})
		return r
	}
	assert.Equal(t, 1, named(remembered).reasons(WhyForeign))
	assert.Zero(t, named(2+remembered).reasons(WhyForeign), "for long")
}
