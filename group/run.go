package group

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

// grace is how long calls wait for a new leader before each member goes on alone.
const grace = 250 * time.Millisecond

// soonest is how soon a process tries again what has failed.
const soonest = 10 * time.Millisecond

// errLed means that another process leads, or did a moment ago.
var errLed = errors.New("group: another process leads but does not answer yet")

// site is where the members of a group find what admits their calls.
type site interface {
	// dial connects to the leader within about d. leads reports whether that is in this
	// process.
	dial(ctx context.Context, d time.Duration, leads bool) (l *link, leader int, err error)
	// succeed begins to lead, after dial has failed with cause. The error is errLed if
	// another process leads.
	succeed(ctx context.Context, cause error) (*reign, error)
	// patience is how the members wait.
	patience() patience
}

// patience is how members wait for a leader.
type patience struct {
	first   time.Duration // a new member, before it goes on alone
	grace   time.Duration // one that has lost its leader
	dial    time.Duration // an attempt of a member that is alone
	soonest time.Duration // between attempts
	latest  time.Duration
	jitter  bool // members on other hosts do not come at the same time
}

// pause returns how long to wait when it was d the last time.
func (p *patience) pause(d time.Duration) time.Duration {
	if !p.jitter {
		return d
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // it is no secret
}

// run keeps the process linked to a leader, which may be itself, until Close.
func (g *Group) run() {
	var own *reign
	var alone *solo
	p := g.site.patience()
	lost, reason, pause := time.Now().Add(p.first-p.grace), "there is no leader", p.soonest
	for g.ctx.Err() == nil {
		left := p.grace - time.Since(lost)
		if alone == nil && left <= 0 {
			alone = g.goAlone(reason)
		}
		if alone != nil {
			left = p.dial
		}
		l, leader, err := g.site.dial(g.ctx, left, own != nil)
		if own != nil && (own.over() || err != nil) {
			own.close()
			own = nil
		}
		if err == nil {
			role := Following
			if own != nil {
				role = Leading
			}
			begun := time.Now()
			err = g.follow(l, role, leader, &alone)
			reason = "the leader has ended: " + err.Error()
			if time.Since(begun) >= grace {
				lost, pause = time.Now(), p.soonest
				if errors.Is(err, errSilent) {
					reason = "the leader does not answer"
					lost = lost.Add(-p.grace)
				}
				if p.jitter && role == Following {
					rest(g.ctx, p.pause(pause))
				}
				continue
			}
		} else {
			reason = "the leader cannot be reached: " + err.Error()
			if isTimeout(err) {
				reason = "the leader does not answer"
			}
			if own, err = g.site.succeed(g.ctx, err); err == nil {
				continue
			}
			if !errors.Is(err, errLed) {
				reason = err.Error()
			}
		}
		rest(g.ctx, p.pause(pause))
		pause = min(2*pause, p.latest)
	}
	if alone != nil {
		alone.close()
	}
	if own != nil {
		own.close()
	}
}

// rest waits for d or the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// follow has the leader at the other end of l admit the calls until the link
// breaks, and returns why.
func (g *Group) follow(l *link, role Role, leader int, alone **solo) error {
	stop := context.AfterFunc(g.ctx, func() { l.fail(ErrClosed) })
	defer stop()
	g.use(l, role, leader, "")
	if *alone != nil {
		(*alone).close()
		*alone = nil
	}
	err := l.run(leaderSilence, func(f *frame) error { return g.handle(l, f) })
	g.leave(l)
	return err
}

// solo admits the calls of a process that is alone.
type solo struct {
	leader *leader
	link   *link
	done   chan struct{}
}

func (g *Group) goAlone(reason string) *solo {
	a, b := net.Pipe()
	s := &solo{leader: newLeader(true, false), link: newLink(a), done: make(chan struct{})}
	s.link.alone = true
	s.leader.wg.Go(func() { _ = s.leader.serve(b) }) // it ends with the link
	if _, err := s.link.greet(hello{Version: version, PID: os.Getpid()}, true); err != nil {
		s.link.fail(err) // it is in this process, which has been stopped for a second: the next round tries again
		close(s.done)
		s.close()
		return nil
	}
	g.use(s.link, Alone, 0, reason)
	g.wg.Go(func() {
		defer close(s.done)
		_ = s.link.run(forever, func(f *frame) error { return g.handle(s.link, f) }) // it ends with close
		g.leave(s.link)
	})
	return s
}

// forever is the silence after which a link inside of one process is given up.
const forever = time.Duration(1<<63 - 1)

func (s *solo) close() {
	s.link.fail(net.ErrClosed)
	<-s.done
	s.leader.close()
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
