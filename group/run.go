package group

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

const (
	// grace is how long calls wait for a new leader before each member goes on alone.
	grace = 250 * time.Millisecond
	// soonest and latest are how often a member without a leader looks for one.
	soonest = 10 * time.Millisecond
	latest  = 250 * time.Millisecond
)

// run keeps the process linked to a leader, which may be itself, until Close.
func (g *Group) run() {
	var own *reign
	var alone *solo
	lost, reason, pause := time.Now(), "there is no leader", soonest
	for g.ctx.Err() == nil {
		if alone == nil && time.Since(lost) >= grace {
			alone = g.goAlone(reason)
		}
		l, leader, err := dial(g.ctx, g.path, own != nil)
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
				lost, pause = time.Now(), soonest
				if errors.Is(err, errSilent) {
					reason = "the leader does not answer"
					lost = lost.Add(-grace)
				}
				continue
			}
		} else {
			reason = "the leader cannot be reached: " + err.Error()
			hung := isTimeout(err)
			if hung {
				reason = "the leader does not answer"
				err = usurp(g.ctx, g.path)
			}
			if !hung || err == nil {
				if own, err = begin(g.path); err == nil {
					continue
				}
			}
			if !errors.Is(err, errLed) {
				reason = err.Error()
			}
		}
		rest(g.ctx, pause)
		pause = min(2*pause, latest)
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
