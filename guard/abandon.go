package guard

import (
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// Abandon implements inflight.Attempt.
func (k *attempt) Abandon(hung error) bool { return k.call.abandon(k, hung) }

// abandon returns what k holds before its function has returned.
func (c *Call) abandon(k *attempt, hung error) (held bool) {
	var f adaptive.Feedback
	if !k.close(&f) {
		return false
	}
	defer k.cancelBreakers(hung) // an observer may end the goroutine
	ended := false
	defer func() {
		if !ended { // the store or a law has done so
			k.release()
		}
	}()
	if c.loose != nil {
		c.loose.leave()
	}
	f = adaptive.Feedback{Verdict: adaptive.Transient, Used: f.Used}
	c.charge(k, &f)
	if c.guard.chain != nil {
		k.finishShared(&f)
	}
	var learned result
	for i := range k.parts {
		p := &k.parts[i] // a call inside may have taken the permit over: it ends once
		var one result
		p.guard.end(&one, p.permit, &f, false)
		if p.guard == c.guard.learner {
			learned = one
		}
		held = held || one.ended
	}
	k.unhold()
	ended = true
	if l := c.guard.learner; l != nil {
		l.emitEnd(k, &learned, &f)
	}
	return held || len(k.parts) == 0
}

// release ends what user code has kept others from ending. A permit, a claim and
// a ticket end once.
func (k *attempt) release() {
	defer k.cancelBreakers(nil)
	defer k.unhold()
	defer giveUp(k.parts)
	if k.call.guard.chain != nil {
		k.finishShared(&adaptive.Feedback{Verdict: adaptive.Transient})
	}
}

// giveUp gives up the permits of parts, unless a call inside has them.
func giveUp(parts []part) {
	if len(parts) == 0 {
		return
	}
	defer giveUp(parts[1:]) // also after a law that ends the goroutine
	if p := &parts[0]; p.handed == nil {
		p.guard.giveUp(p.permit)
	}
}

// giveUp ends the permit of a call with an unknown outcome; it cost what was reserved.
func (g *Guard) giveUp(p throttle.Permit) {
	var r result
	g.end(&r, p, &adaptive.Feedback{Verdict: adaptive.Transient}, false)
}
