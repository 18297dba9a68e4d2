package guard

import (
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/hook"
)

// Answers implements inflight.Attempt.
func (k *attempt) Answers() {
	if k.call.guard.breakers {
		k.answerBreakers()
	}
	k.answerClosed()
}

// answerBreakers reports to the breakers that a probe has succeeded.
func (k *attempt) answerBreakers() {
	for i := range k.parts {
		p := &k.parts[i]
		k.mu.Lock()
		ticket := p.ticket
		k.mu.Unlock()
		if ticket != (breaker.Ticket{}) { // what has ended stays as it is
			hook.Open[interface{ Answers(t breaker.Ticket) }](p.guard.breaker).Answers(ticket)
		}
	}
}

// answerClosed reports that a call gets through: that ends a look at a closed key, and a key is not closed because nothing does.
func (k *attempt) answerClosed() {
	l := k.call.guard.learner
	if l == nil || l.governor == nil || l.free.Load() {
		return
	}
	var r result
	k.mu.Lock()
	if p := k.of(l); p != nil && !k.over && p.handed == nil {
		l.update(func(now time.Time) {
			sent, live := l.engine.Sent(p.permit)
			if live {
				f := adaptive.Feedback{Verdict: adaptive.OK}
				r.now, r.news = now, l.governor.hear(now, sent.Seq, &f, 0)
			}
		})
	}
	k.mu.Unlock()
	if r.news.Reopened {
		l.emitNews(k.Context, &r, &adaptive.Feedback{})
	}
}
