package goodput

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// desk drives a policy of the simulator in real time, in the place of one
// process: rejected calls are ahead of new ones, as in the simulator.
type desk struct {
	begin time.Time

	mu       sync.Mutex
	policy   client.Policy
	retries  []*visit
	fresh    []*visit
	inFlight int
	seq      int64
	timer    *time.Timer // when the head of the line is asked about again
}

// visit is a call in line; sent is closed when its attempt may be made.
type visit struct {
	call *client.Call
	sent chan struct{}
}

func (d *desk) now() time.Duration { return time.Since(d.begin) }

// enter puts a new call at the end of the line.
func (d *desk) enter(c *client.Call) *visit {
	v := &visit{call: c, sent: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh = append(d.fresh, v)
	d.pump()
	return v
}

// again puts a call that was rejected, and has backed off, behind the other rejected ones.
func (d *desk) again(v *visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.sent = make(chan struct{})
	d.retries = append(d.retries, v)
	d.pump()
}

// wait returns when v may be sent, or with the cause of ctx, which takes it out of the line.
func (d *desk) wait(ctx context.Context, v *visit) error {
	select {
	case <-v.sent:
		return nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := func(w *visit) bool { return w == v }
	d.retries, d.fresh = slices.DeleteFunc(d.retries, left), slices.DeleteFunc(d.fresh, left)
	if len(d.retries)+len(d.fresh) == 0 && d.timer != nil {
		d.timer.Stop()
	}
	return context.Cause(ctx)
}

// answered reports what became of v, and returns how long it backs off if it was
// rejected. The models of peers keep every rejected call.
func (d *desk) answered(v *visit, a *provider.Answer) (backoff time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inFlight--
	if !a.Admitted {
		v.call.Refusals++
	}
	backoff, _ = d.policy.Answered(d.now(), v.call, d.inFlight, a)
	d.pump()
	return backoff
}

// pump sends from the head of the line until the policy has it wait. mu is held.
func (d *desk) pump() {
	for {
		line := &d.retries
		if len(*line) == 0 {
			line = &d.fresh
		}
		now := d.now()
		if len(*line) == 0 {
			d.policy.Slack(now)
			return
		}
		v := (*line)[0]
		if wait := d.policy.Admit(now, v.call, d.inFlight); wait > 0 {
			d.arm(wait)
			return
		}
		*line = (*line)[1:]
		d.seq++
		v.call.Seq, v.call.SentAt, v.call.Others = d.seq, now, d.inFlight
		d.inFlight++
		d.policy.Sent(now, v.call)
		close(v.sent)
	}
}

// arm has the head asked about again after wait. mu is held.
func (d *desk) arm(wait time.Duration) {
	if d.timer != nil {
		d.timer.Stop()
	}
	if wait >= client.Forever {
		return
	}
	d.timer = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pump()
	})
}
