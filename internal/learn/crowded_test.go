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

// atOnce is how many calls go at the moment now.
func (r *machineRun) atOnce(now float64) (n int) {
	for ; r.Wait(now, 100, 0) == 0 && n < 10; n++ {
		r.send(now)
	}
	return n
}

func TestCallsThatAreRejectedCloseBehindOthersAreSpaced(t *testing.T) {
	r := pacedTwice()
	r.atOnce(0)
	before := r.atOnce(10)
	assert.Equal(t, several, before, "calls and tokens are both paced")
	for at := 20.0; at < 60; at += 10 {
		r.Answered(at+0.1, r.send(at), Answer{Used: 100})
		r.Refused(at+2, r.send(at+1), Refusal{Asked: 0.1}) // a second behind the one before: not close
	}
	assert.Equal(t, several, r.atOnce(70))
	for at := 80.0; at < 120; at += 10 {
		r.Answered(at+0.1, r.send(at), Answer{Used: 100})
		r.send(at + 1)
		r.Refused(at+2, r.send(at+1.01), Refusal{Asked: 0.1})
	}
	assert.Equal(t, 1, r.atOnce(130))
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
