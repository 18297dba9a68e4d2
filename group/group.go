package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/internal/invalid"
)

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("group: closed")

// Group is this process as a member. Safe for concurrent use.
type Group struct {
	site site
	ctx  context.Context //nolint:containedctx // from Join to Close
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	linked   chan struct{} // closed when calls are admitted for the first time
	once     sync.Once
	standing atomic.Pointer[Stats]

	mu      sync.Mutex // guards what follows; taken before a limiter's lock
	seats   []*seat    // by number
	current *link      // nil if there is none at the moment
	news    []news     // that observers have not received
	telling bool       // a goroutine sends them
}

// news is an event for the observer of a guard.
type news struct {
	event.Event

	to event.Observer
}

// mostNews bounds what waits for an observer that does not return. Later events are lost.
const mostNews = 1 << 16

// Role is the part that a process has in a group.
type Role string

// Roles.
const (
	Leading   Role = "leading"   // this process admits the calls of all members
	Following Role = "following" // another process does
	Alone     Role = "alone"     // no process does, and each uses its share
	Joining   Role = "joining"   // none of these yet
)

// Stats is a snapshot of a process in its group.
type Stats struct {
	Role    Role
	Leader  int       // the process ID of the leader; 0: there is none, or it is not known
	Address string    // of the leader on another host; empty: it is on this one, or not known
	Members int       // the most that share a key of this process, itself included; 0: not known yet
	Reason  string    // why it is alone, or what is wrong
	Since   time.Time // of the role
}

// String describes s in a few words.
func (s Stats) String() string {
	text := string(s.Role)
	if s.Role == Following {
		text += fmt.Sprintf(" process %d", s.Leader)
		if s.Address != "" {
			text += " at " + s.Address
		}
	}
	switch {
	case s.Members < 1:
	case s.Role == Alone:
		text += fmt.Sprintf(" with 1/%d of each limit", s.Members)
	case s.Members == 1:
		text += ", 1 member"
	default:
		text += fmt.Sprintf(", %d members", s.Members)
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// Join makes this process a member of the group at address. unix:PATH is the group of one user's
// processes on one host that use the same PATH, of at most 103 bytes in an existing directory. The
// first one is the leader: it admits the calls of all and learns from them. If it ends, another one
// continues with what was learned up to a second before. https://HOST:PORT, or several separated by
// commas, is the group of a service with a Handler at Path, which is the leader; the options
// ?ca=FILE, token-file=FILE, cert=FILE and key=FILE come last. Without a token-file the token is the
// value of TokenEnv. While there is no leader each member uses its share of each limit.
//
// Join returns when the leader is known, or with the cause of ctx. After that, the end
// of ctx has no effect. The error for an address is a *fault.FieldError. Close the
// group to leave it.
func Join(ctx context.Context, address string) (*Group, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	return join(ctx, at)
}

func join(ctx context.Context, at site) (*Group, error) {
	g := &Group{site: at, linked: make(chan struct{})}
	g.ctx, g.end = context.WithCancelCause(context.WithoutCancel(ctx))
	g.standing.Store(&Stats{Role: Joining, Since: time.Now()})
	g.wg.Go(g.run)
	select {
	case <-g.linked:
		return g, nil
	case <-ctx.Done():
		g.Close() //nolint:contextcheck // it ends what ctx does not
		return nil, context.Cause(ctx)
	}
}

// Guard returns a guard for a limit that all members share by its Name. Every member passes
// the same Limits, Preset, Share, Law and MaxWait: those of the first member apply, and
// Stats.Reason reports a difference. All other fields apply to this process. A Law is
// adaptive.Measured, adaptive.AIMD or nil, and Store, Presets and Clock are not used.
// Problems are joined, each a *fault.FieldError.
//
// Its Save is up to a second old; its Restore has an effect if the group has learned nothing
// yet. Reset and Reopen apply to the group; Set, Pause, Resume and Close to this process only.
// The Observer receives the leader's decisions, at most 32 events a second. A deadline does not
// account for the calls of other members. Guards of a group are never forgotten.
func (g *Group) Guard(p guard.Policy) (*guard.Guard, error) {
	problems := invalid.Problems{Owner: fmt.Sprintf("group: guard %q", p.Name)}
	s := &seat{group: g, policy: p, trials: map[int64]trial{}, calls: map[int64]sending{}}
	s.spec = specOf(&p, &problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if _, err := guard.New(s.spec.policy(p.Name, 1)); err != nil {
		return nil, err
	}
	p.Law = s
	made, err := guard.New(p)
	if err != nil {
		return nil, err
	}
	s.inside = hook.Open[interior](made)
	s.guard = made
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ctx.Err() != nil:
		return nil, ErrClosed
	case slices.ContainsFunc(g.seats, func(o *seat) bool { return o.policy.Name == p.Name }):
		problems.Addf("Name", "this process already has a guard of that name in the group: share it")
	case len(g.seats) >= mostKeys:
		problems.Addf("Name", "the group has %d guards: the maximum is %d", len(g.seats), mostKeys)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	g.seats = append(g.seats, s)
	if g.current != nil {
		s.attach(g.current, len(g.seats)-1)
	}
	return made, nil
}

// Stats returns the state of this process.
func (g *Group) Stats() Stats { return *g.standing.Load() }

// Close leaves the group. If this process was the leader, another member takes over.
// Waiting and later calls fail with ErrClosed; calls in flight finish. It may be
// called twice. It does not wait for observers.
func (g *Group) Close() {
	g.end(ErrClosed)
	g.mu.Lock()
	seats := slices.Clone(g.seats)
	g.mu.Unlock()
	for _, s := range seats {
		s.guard.Close(ErrClosed)
	}
	g.wg.Wait()
}

// use has the other end of l admit the calls of all guards.
func (g *Group) use(l *link, role Role, leader int, reason string) {
	g.mu.Lock()
	g.current = l
	for i, s := range g.seats {
		s.attach(l, i)
	}
	g.mu.Unlock()
	g.stand(l, func(s *Stats) { s.Role, s.Leader, s.Address, s.Reason = role, leader, l.at, reason })
	g.once.Do(func() { close(g.linked) })
}

// leave has calls wait until use, if l admits them now.
func (g *Group) leave(l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current != l {
		return
	}
	g.current = nil
	for _, s := range g.seats {
		s.detach()
	}
}

// handle processes a frame from the other end of l.
func (g *Group) handle(l *link, f *frame) error {
	if f.kind == kindPing {
		return nil
	}
	g.mu.Lock()
	var s *seat
	if f.key < uint64(len(g.seats)) {
		s = g.seats[f.key]
	}
	g.mu.Unlock()
	if s == nil {
		return fmt.Errorf("%w: key %d was not opened", errFrame, f.key)
	}
	return s.handle(l, f)
}

// stand notes where the process stands as long as l admits its calls, and has
// observers receive it if it is news.
func (g *Group) stand(l *link, change func(*Stats)) {
	g.mu.Lock()
	old := g.Stats()
	s := old
	if g.current == l {
		change(&s)
	}
	if s.Role != old.Role || s.Leader != old.Leader || s.Address != old.Address {
		s.Since = time.Now()
	}
	g.standing.Store(&s)
	if s != old {
		e := event.Event{Time: time.Now(), Kind: event.LimiterChanged, Index: event.NoIndex, Reason: "the group: " + s.String()}
		for _, s := range g.seats {
			g.tellLocked(s, e)
		}
	}
	g.mu.Unlock()
}

// tell has the observer of s receive e.
func (g *Group) tell(s *seat, e event.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tellLocked(s, e)
}

func (g *Group) tellLocked(s *seat, e event.Event) {
	if s.policy.Observer == nil || len(g.news) >= mostNews {
		return
	}
	e.Source = s.policy.Name
	g.news = append(g.news, news{e, s.policy.Observer})
	if !g.telling {
		g.telling = true
		go g.sendNews()
	}
}

// sendNews sends the news, in a goroutine of its own: an observer may wait for a call,
// close the group, or end the goroutine.
func (g *Group) sendNews() {
	told := false
	defer func() {
		if !told {
			go g.sendNews()
		}
	}()
	for {
		g.mu.Lock()
		if told = len(g.news) == 0; told {
			g.telling = false
			g.mu.Unlock()
			return
		}
		n := g.news[0]
		g.news = g.news[1:]
		g.mu.Unlock()
		emit.Send(n.to, n.Event)
	}
}

// learned notes what the other end of l has reported about the keys.
func (g *Group) learned(l *link) {
	g.stand(l, func(s *Stats) {
		if l.alone {
			return
		}
		s.Members, s.Reason = 0, ""
		for _, seat := range g.seats {
			s.Members = max(s.Members, int(seat.members.Load()))
			if seat.other.Load() {
				s.Reason = fmt.Sprintf("guard %q has another policy than that of the first member, which applies", seat.policy.Name)
			}
		}
	})
}
