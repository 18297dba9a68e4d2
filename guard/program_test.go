package guard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// program is a chain of guards, and what goes on with them.
type program struct {
	guards  []layer
	calls   []planned
	changes []change

	queue    int           // calls in a line
	patience time.Duration // of these
}

// layer is one guard.
type layer struct {
	within  []int // of the guards before
	most    int   // calls in flight; 0: any number
	window  int64 // calls a second; 0: any number
	law     int   // of laws
	timeout bool  // of a second
	maxWait time.Duration
}

// laws are none of its own, AIMD, and Measured.
var laws = []adaptive.Law{nil, adaptive.AIMD{Initial: 3, Max: 6}, adaptive.Measured{}}

// how a call is made.
type how int

const (
	byDo how = iota
	byTry
	byCall // Begin, Admit and End
	ways
)

// fate is what becomes of an attempt.
type fate int

const (
	succeeds fate = iota
	fails
	isRejected
	isOverloaded
	findsTheQuotaUsedUp
	panics
	isDeaf // goes on for seconds after its context has ended
	isAbandoned
	isNotSent // in byCall; otherwise it fails
	fates
)

// planned is a call: of one guard, or of a Join.
type planned struct {
	at, deadline time.Duration
	guards       []int
	line         int // 0: in none; otherwise its client, with interactive calls if it is even
	how          how
	takes        time.Duration
	fates        []fate    // of its attempts; those after the last succeed
	inside       []planned // made one after the other by each attempt, which then sends nothing itself
}

// change is a Set of the calls in flight and the controller, or another change.
type change struct {
	at    time.Duration
	guard int
	most  int
	law   int
	kind  int
}

// played is a program that runs.
type played struct {
	program

	guards []*guard.Guard
	lines  *line.Lines
	begin  time.Time

	setting  sync.Mutex // held by one Set at a time, so that the last one noted is the one in force
	mu       sync.Mutex // guards what follows
	begun    int        // calls and changes
	inFlight []int
	most     []int // in force
	before   []int // in force before the last change
	changed  []time.Time
	sent     [][]time.Duration // by guard, calls that were made by no other call
	problems []string
}

// report is problem for callers that do not hold mu.
func (p *played) report(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem(format, args...)
}

func (p *played) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// play runs p, and returns what went wrong.
func (p program) play(t *testing.T) (problems []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := len(p.guards)
		r := &played{
			program: p, begin: time.Now(), inFlight: make([]int, n), most: make([]int, n), before: make([]int, n),
			changed: make([]time.Time, n), sent: make([][]time.Duration, n),
			lines: line.New(line.Config{MaxQueue: p.queue, MaxWait: p.patience}),
		}
		for i, l := range p.guards {
			r.guards = append(r.guards, made(t, l.policy(i, r.guards)))
			r.most[i] = l.most
		}
		var wg sync.WaitGroup
		for _, c := range p.calls {
			wg.Go(func() { time.Sleep(c.at); r.call(t.Context(), c, true) })
		}
		for _, c := range p.changes {
			wg.Go(func() { time.Sleep(c.at); r.change(t, c) })
		}
		wg.Wait()
		time.Sleep(time.Minute) // deaf calls return
		r.checkAfter(t)
		problems = r.problems
	})
	return problems
}

func (l layer) policy(i int, guards []*guard.Guard) guard.Policy {
	p := guard.Policy{Name: fmt.Sprint("g", i), Law: laws[l.law], MaxWait: l.maxWait, Limits: throttle.Limits{Concurrency: l.most}}
	for _, w := range l.within {
		p.Within = append(p.Within, guards[w])
	}
	if l.window > 0 {
		p.Limits.Windows = []throttle.Window{throttle.Sliding(l.window, time.Second)}
	}
	if l.timeout {
		p.Timeout = time.Second
	}
	return p
}

// layersOf are the guards that a call on these passes.
func (p program) layersOf(guards []int) (all []int) {
	for _, g := range guards {
		all = append(append(all, g), p.layersOf(p.guards[g].within)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// change makes one change.
func (p *played) change(t *testing.T, c change) {
	t.Helper()
	g := p.guards[c.guard]
	p.count()
	switch c.kind {
	case 0:
		p.setting.Lock()
		defer p.setting.Unlock()
		p.mu.Lock()
		before := p.most[c.guard]
		if p.changed[c.guard].Equal(time.Now()) {
			before = wider(before, p.before[c.guard])
		}
		p.before[c.guard], p.most[c.guard], p.changed[c.guard] = before, c.most, time.Now()
		l := p.program.guards[c.guard]
		p.mu.Unlock()
		if l.most = c.most; l.law != 0 || len(l.within) == 0 { // otherwise another guard learns
			l.law = c.law
		}
		policy := l.policy(c.guard, p.guards)
		policy.Within = nil
		require.NoError(t, g.Set(policy))
	case 1:
		g.Pause(time.Now().Add(time.Second))
	case 2:
		require.NoError(t, g.Reset())
	case 3:
		if saved, err := g.Save(); err == nil && saved != nil {
			_ = g.Restore(saved) // the controller may have been replaced
		}
	case 4:
		g.Close(context.Canceled)
		time.Sleep(100 * time.Millisecond)
		g.Reopen()
	}
}

// wider is the larger of two bounds, of which 0 is none.
func wider(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// checkAfter checks what the calls have left behind.
func (p *played) checkAfter(t *testing.T) {
	t.Helper()
	for i, g := range p.guards {
		if most := g.Policy().Limits.Concurrency; most != p.most[i] {
			p.problem("guard %d has a limit of %d, and was last given %d", i, most, p.most[i])
		}
		if s := g.Stats(); s.InFlight != 0 || s.Waiting != 0 {
			p.problem("guard %d is left with %d calls in flight and %d waiting", i, s.InFlight, s.Waiting)
		}
		if n := p.program.guards[i].window; n > 0 && int64(worst(p.sent[i])) > n {
			p.problem("%d calls a second passed guard %d, which allows %d", worst(p.sent[i]), i, n)
		}
		g.Reopen()
		require.NoError(t, g.Reset()) // what was learned may be a very low rate
	}
	for _, s := range p.lines.Stats() {
		if s.Waiting != 0 || s.Oldest != 0 {
			p.problem("the line %s is left with %d calls waiting", s.Line, s.Waiting)
		}
	}
	time.Sleep(time.Hour) // pauses end
	for i, g := range p.guards {
		time.Sleep(time.Second) // the windows are free again
		ctx, _ := p.lines.With(t.Context(), line.Caller{})
		if err := g.Do(ctx, throttle.Cost{}, nothing); err != nil {
			p.problem("guard %d admits no call any more: %v", i, err)
		}
	}
}
