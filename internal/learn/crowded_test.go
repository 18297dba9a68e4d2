package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// pacedTwice is a machine that paces ten calls and a thousand tokens per second.
func pacedTwice() *machineRun {
	r := runMachine(Config{CallRate: 10, TokenRate: 1000})
	r.Wait(0, 100, 0)
	return r
}

// atOnce is how many calls go together ten seconds after the start.
func (r *machineRun) atOnce() (n int) {
	for ; r.Wait(10, 100, 0) == 0 && n < 10; n++ {
		r.send(10)
	}
	return n
}

func TestHowManyCallsGoAtOnceWhereTokensArePacedAsWell(t *testing.T) {
	answered := func(calls Told) *machineRun {
		r := pacedTwice()
		r.Answered(1, r.send(0.1), Answer{Used: 100, Calls: calls})
		return r
	}
	headers := told(600, 100, 1)
	assert.Equal(t, 1, answered(Told{}).atOnce(), "what the provider's bucket holds is unknown")
	assert.Equal(t, turnsDeep, answered(headers).atOnce(), "the headers say what is left")

	calls := runMachine(Config{CallRate: 10})
	calls.Answered(1, calls.send(0.1), Answer{Used: 100, Calls: headers})
	assert.Equal(t, 1, calls.atOnce(), "calls alone are paced")

	ignored := answered(headers)
	ignored.trust.Low(9)
	assert.Equal(t, 1, ignored.atOnce(), "they are ignored")
}

// A call that was rejected late is not taken for one of as many as have been sent since.
func TestCallsThatHaveEndedAreNotInFlight(t *testing.T) {
	r := runMachine(Config{})
	slow := Call{Seq: 1, Tokens: 100, Total: 100}
	r.Sent(slow)
	r.last = slow
	for i := 1; i <= 1000; i++ {
		c := r.send(float64(i) / 100)
		r.Answered(c.At+0.009, c, Answer{Used: 100, InFlight: 1})
	}
	before := r.InFlight()
	r.Refused(10.02, slow, Refusal{})
	assert.LessOrEqual(t, r.InFlight(), before)
}
