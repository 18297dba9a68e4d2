//go:build unix

package group_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

func soon(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, patience, time.Millisecond)
}

// Calls in flight count for the next leader, until they end.
func TestCallsInFlightOutliveTheLeader(t *testing.T) {
	at := address(t)
	a := joined(t, at)
	p := guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}}
	second, third := joined(t, at), joined(t, at)
	b, c := guarded(t, second, p), guarded(t, third, p)
	call := b.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	soon(t, func() bool { return second.Stats().Members == 2 && third.Stats().Members == 2 })
	a.Close()

	// The new leader waits for 250 ms for what the others have in flight, and members without a leader wait as long, which
	// is short on a busy machine: the next call begins when the leader knows. It receives in order what a member sends.
	for _, g := range []*group.Group{second, third} {
		require.NoError(t, guarded(t, g, guard.Policy{Name: "other"}).Do(t.Context(), throttle.Cost{}, nothing), "not over the link that is gone")
	}
	soon(t, func() bool {
		roles := string(second.Stats().Role + third.Stats().Role)
		return strings.Contains(roles, string(group.Leading)) && strings.Contains(roles, string(group.Following))
	})
	require.NoError(t, guarded(t, second, guard.Policy{Name: "another"}).Do(t.Context(), throttle.Cost{}, nothing))
	done := make(chan error, 1)
	go func() { done <- c.Do(t.Context(), throttle.Cost{}, nothing) }()
	soon(t, func() bool { return c.Stats().Waiting == 1 })
	require.NoError(t, guarded(t, third, guard.Policy{Name: "another"}).Do(t.Context(), throttle.Cost{}, nothing))
	assert.Equal(t, 1, c.Stats().Waiting, "its grant would have come before")
	assert.ErrorIs(t, c.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)
	assert.Empty(t, done)
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
	require.NoError(t, err)
	assert.NoError(t, <-done)
}

// What a member holds is free when its connection ends.
func TestAMemberThatLeavesFreesItsSlots(t *testing.T) {
	at := address(t)
	p := guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}}
	a, other := guarded(t, joined(t, at), p), joined(t, at)
	b := guarded(t, other, p)
	_, err := b.Begin(throttle.Cost{}).Admit(t.Context())
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() { waiting <- b.Do(t.Context(), throttle.Cost{}, nothing) }()
	soon(t, func() bool { return b.Stats().Waiting == 1 })
	assert.ErrorIs(t, a.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited)
	other.Close()
	assert.ErrorIs(t, <-waiting, group.ErrClosed)
	require.NoError(t, a.Do(t.Context(), throttle.Cost{}, nothing))
}

// A call that stops waiting leaves its place at the leader to the next one.
func TestACallThatStopsWaiting(t *testing.T) {
	at := address(t)
	p := guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}}
	a, b := guarded(t, joined(t, at), p), guarded(t, joined(t, at), p)
	call := a.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Do(ctx, throttle.Cost{}, nothing) }()
	soon(t, func() bool { return b.Stats().Waiting == 1 })
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
	require.NoError(t, err)
	for range 100 { // a lost grant would hold the slot
		require.NoError(t, a.Do(t.Context(), throttle.Cost{}, nothing))
		require.NoError(t, b.Do(t.Context(), throttle.Cost{}, nothing))
	}
}

// What was learned reaches every member, and the next leader goes on from it.
func TestTheNextLeaderGoesOn(t *testing.T) {
	at := address(t)
	first := joined(t, at)
	a, second := guarded(t, first, guard.Policy{Name: "k", Law: adaptive.AIMD{Initial: 8}}), joined(t, at)
	b := guarded(t, second, guard.Policy{Name: "k", Law: adaptive.AIMD{Initial: 8}})
	hit := false
	require.NoError(t, a.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
		if hit {
			return nil
		}
		hit = true
		return &adaptive.RateLimitHit{RetryAfter: time.Millisecond}
	}))
	soon(t, func() bool { return b.Stats().View.Concurrency == 4 })
	saved, err := b.Save()
	require.NoError(t, err)
	assert.JSONEq(t, `{"law":"aimd","window":4}`, string(saved))
	first.Close()
	soon(t, func() bool { return second.Stats().Role == group.Leading })
	soon(t, func() bool { return b.Stats().View.Hits == 0 && b.Stats().View.Concurrency == 4 })
}

// A pause that the provider has asked for, and a key that it has closed, stay when
// another process leads.
func TestTheNextLeaderKeepsAPause(t *testing.T) {
	for name, c := range map[string]struct {
		asked time.Duration
		want  error
	}{
		"a pause":   {5 * time.Minute, throttle.ErrLimited},
		"a closing": {5 * time.Hour, &adaptive.RateLimitHit{}},
	} {
		t.Run(name, func(t *testing.T) {
			at := address(t)
			first, second := joined(t, at), joined(t, at)
			a, b := guarded(t, first, guard.Policy{Name: "k"}), guarded(t, second, guard.Policy{Name: "k"})
			call := a.Begin(throttle.Cost{})
			_, err := call.Admit(t.Context())
			require.NoError(t, err)
			_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: c.asked})
			soon(t, func() bool { return time.Now().Before(b.Stats().View.GateUntil) })
			first.Close()
			soon(t, func() bool { return second.Stats().Role == group.Leading })
			err = b.Try(t.Context(), throttle.Cost{}, nothing)
			if c.want == throttle.ErrLimited { //nolint:errorlint // of the table
				assert.ErrorIs(t, err, throttle.ErrLimited)
				assert.Contains(t, b.Stats().Why, "pause ends")
				return
			}
			hit := new(adaptive.RateLimitHit)
			require.ErrorAs(t, err, &hit)
			assert.Equal(t, c.asked, hit.RetryAfter)
		})
	}
}

func TestRestoreCountsIfNothingWasLearned(t *testing.T) {
	at := address(t)
	a, b := guarded(t, joined(t, at), guard.Policy{Name: "k"}), guarded(t, joined(t, at), guard.Policy{Name: "k"})
	require.Error(t, a.Restore([]byte(`{"law":"aimd"}`)))
	require.NoError(t, a.Restore([]byte(`{"law":"measured","version":1,"calls":10}`)))
	soon(t, func() bool { return b.Stats().View.Pace[throttle.Requests] > 0 })
	rate := b.Stats().View.Pace[throttle.Requests]
	require.NoError(t, b.Restore([]byte(`{"law":"measured","version":1,"calls":1000}`)))
	require.NoError(t, b.Do(t.Context(), throttle.Cost{}, nothing))
	assert.InDelta(t, rate, b.Stats().View.Pace[throttle.Requests], rate/2)
}

// Without a leader a process goes on alone, and reports why.
func TestAlone(t *testing.T) {
	at := address(t)
	path := strings.TrimPrefix(at, "unix:")
	lock, err := os.Create(path + ".lock")
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))

	g := joined(t, at)
	assert.Equal(t, group.Alone, g.Stats().Role)
	events := make(chan event.Event, 10)
	one := guarded(t, g, guard.Policy{Name: "k", Observer: observer(func(e event.Event) { events <- e })})
	require.NoError(t, one.Do(t.Context(), throttle.Cost{}, nothing))
	require.NoError(t, one.Try(t.Context(), throttle.Cost{}, nothing))
	assert.Contains(t, one.Stats().Why, "alone: ")

	call := one.Begin(throttle.Cost{})
	_, err = call.Admit(t.Context())
	require.NoError(t, err)
	require.NoError(t, lock.Close())
	soon(t, func() bool { return g.Stats().Role == group.Leading })
	e := <-events
	assert.Equal(t, event.LimiterChanged, e.Kind)
	assert.Contains(t, e.Reason, "leading")
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
	require.NoError(t, err)
	require.NoError(t, one.Do(t.Context(), throttle.Cost{}, nothing))
}

// A leader that takes no part, such as one with another version of the protocol or
// without room, does not keep a process from going on alone with the reason.
func TestALeaderThatTurnsMembersAway(t *testing.T) {
	t.Parallel()
	hello := func(version string) []byte { return framed(1, 0, 0, []byte(`{"pid":7,"version":`+version+`}`)...) }
	for name, c := range map[string]struct {
		answer []byte
		reason string
	}{
		"another version": {hello("99"), "process 7 uses version 99"},
		"no room":         {hello("1"), "the leader has ended"},
		"no protocol":     {framed(200, 0, 0), "malformed frame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := address(t)
			path := strings.TrimPrefix(at, "unix:")
			lock, err := os.Create(path + ".lock")
			require.NoError(t, err)
			defer func() { _ = lock.Close() }()
			require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
			l, err := net.Listen("unix", path)
			require.NoError(t, err)
			var turnedAway atomic.Int64
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					turnedAway.Add(1)
					_, _ = conn.Read(make([]byte, 100))
					_, _ = conn.Write(c.answer)
					_ = conn.Close()
				}
			})
			defer serving.Wait()
			defer func() { _ = l.Close() }()

			g := joined(t, at)
			soon(t, func() bool { return g.Stats().Role == group.Alone })
			assert.Contains(t, g.Stats().Reason, c.reason)
			one := guarded(t, g, guard.Policy{Name: "k"})
			soon(t, func() bool {
				require.NoError(t, one.Do(t.Context(), throttle.Cost{}, nothing))
				return turnedAway.Load() > 6
			})
		})
	}
}

// Observers may end their goroutine, wait for a call or close the group.
func TestObserversOfAGroup(t *testing.T) {
	at := address(t)
	first, second := joined(t, at), joined(t, at)
	called := make(chan error, 1)
	var exits atomic.Int64
	guarded(t, second, guard.Policy{Name: "exits", Observer: observer(func(e event.Event) {
		if e.Kind == event.LimiterChanged {
			exits.Add(1)
			runtime.Goexit()
		}
	})})
	var one *guard.Guard
	one = guarded(t, second, guard.Policy{Name: "k", Observer: observer(func(e event.Event) {
		if strings.Contains(e.Reason, "leading") {
			called <- one.Do(context.Background(), throttle.Cost{}, nothing)
			second.Close()
			close(called)
		}
	})})
	require.NoError(t, one.Do(t.Context(), throttle.Cost{}, nothing))
	first.Close()
	assert.NoError(t, <-called)
	assert.NoError(t, <-called) // closed
	assert.Positive(t, exits.Load())
	assert.ErrorIs(t, one.Do(t.Context(), throttle.Cost{}, nothing), group.ErrClosed)
}

// Observers of all members receive what the leader decides.
func TestDecisionsReachAllObservers(t *testing.T) {
	at := address(t)
	events := make([]chan event.Event, 2)
	var guards []*guard.Guard
	for i := range events {
		events[i] = make(chan event.Event, 100)
		guards = append(guards, guarded(t, joined(t, at), guard.Policy{
			Name: "k", Law: adaptive.AIMD{Initial: 8},
			Observer: observer(func(e event.Event) {
				if e.Kind != event.LimiterChanged && e.Kind != event.LimiterHit {
					events[i] <- e
				}
			}),
		}))
	}
	for _, g := range guards {
		require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing)) // each is a member now
	}
	for _, f := range []adaptive.Feedback{
		{Verdict: adaptive.Hit, RetryAfter: time.Millisecond}, {Verdict: adaptive.Terminal, Err: errors.New("no credit")},
	} {
		call := guards[1].Begin(throttle.Cost{})
		_, err := call.Admit(t.Context())
		require.NoError(t, err)
		_, _ = call.End(f)
	}
	for i := range events {
		cut := <-events[i]
		assert.Equal(t, event.LimiterCut, cut.Kind)
		assert.Equal(t, []any{"k", event.NoIndex, 8.0, 4.0}, []any{cut.Source, cut.Index, cut.From, cut.To})
		assert.Contains(t, cut.Reason, "refused")
		closed := <-events[i]
		assert.Equal(t, event.LimiterClosed, closed.Kind)
		assert.Equal(t, "quota exhausted", closed.Reason)
		assert.EqualError(t, closed.Err, "no credit")
	}
	guards[0].Reopen()
	assert.Equal(t, event.LimiterReopened, (<-events[1]).Kind)
}

type observer func(event.Event)

func (o observer) Observe(e event.Event) { o(e) }

// A member can see that its policy is not in force.
func TestPoliciesThatDiffer(t *testing.T) {
	at := address(t)
	a, b := joined(t, at), joined(t, at)
	guarded(t, a, guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}})
	soon(t, func() bool { return a.Stats().Members == 1 })
	one := guarded(t, b, guard.Policy{Name: "k", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Hour)}}})
	soon(t, func() bool { return strings.Contains(b.Stats().Reason, `guard "k" has another policy`) })
	require.NoError(t, one.Do(t.Context(), throttle.Cost{Requests: 5}, nothing))
}

// A call that no guard of the leader can admit fails with the leader's reason.
func TestACostThatTheLeaderCannotAdmit(t *testing.T) {
	at := address(t)
	a, b := joined(t, at), joined(t, at)
	guarded(t, a, guard.Policy{Name: "k", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(5, time.Hour)}}})
	soon(t, func() bool { return a.Stats().Members == 1 })
	one := guarded(t, b, guard.Policy{Name: "k"})
	assert.ErrorContains(t, one.Do(t.Context(), throttle.Cost{Requests: 6}, nothing), "5")
	assert.NoError(t, one.Do(t.Context(), throttle.Cost{}, nothing), "later calls have nothing to do with it")
}

func TestWhatCannotBeShared(t *testing.T) {
	g := joined(t, address(t))
	_, err := g.Guard(guard.Policy{Store: quota.NewMemoryStore(nil), Presets: presets.Default(), Law: custom{}})
	for _, field := range []string{"Name", "Law", "Store", "Presets"} {
		assert.ErrorContains(t, err, field+": ")
	}
	assert.ErrorAs(t, err, new(*fault.FieldError))
	_, err = g.Guard(guard.Policy{Name: strings.Repeat("x", 300)})
	assert.ErrorContains(t, err, "300 bytes")
	_, err = g.Guard(guard.Policy{Name: "k", Preset: "no-such"})
	assert.ErrorContains(t, err, "no-such")
	guarded(t, g, guard.Policy{Name: "k"})
	_, err = g.Guard(guard.Policy{Name: "k"})
	assert.ErrorContains(t, err, "share it")
}

type custom struct{ adaptive.Law }

func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for address, want := range map[string]string{
		"":                                      "not supported",
		"ftp://localhost":                       "not supported",
		"unix:":                                 "path is empty",
		"unix:@name":                            "not the path of a file",
		"unix:/" + strings.Repeat("x", 200):     "201 bytes",
		"unix:" + filepath.Join(dir, "no", "s"): "directory",
		"unix:" + filepath.Join(file, "s"):      "directory",
		"unix:" + file:                          "not a socket",
	} {
		_, err := group.Join(t.Context(), address)
		assert.ErrorContains(t, err, want, address)
		assert.ErrorAs(t, err, new(*fault.FieldError))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stop"))
	g, err := group.Join(ctx, "unix:"+filepath.Join(dir, "s"))
	if err == nil { // it had joined by then
		g.Close()
		return
	}
	assert.EqualError(t, err, "stop")
}

// A file that a killed leader has left does not keep the next one from leading,
// and the socket is for its user only.
func TestASocketThatWasLeft(t *testing.T) {
	at := address(t)
	path := strings.TrimPrefix(at, "unix:")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	g := joined(t, at)
	assert.Equal(t, group.Leading, g.Stats().Role)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSocket|0o600, info.Mode())
	g.Close()
	_, err = os.Lstat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A socket that was removed, such as by what cleans up temporary files, is replaced:
// else new members would be alone for as long as the leader lives.
func TestASocketThatIsRemoved(t *testing.T) {
	at := address(t)
	a := joined(t, at)
	require.NoError(t, os.Remove(strings.TrimPrefix(at, "unix:")))
	b := joined(t, at)
	soon(t, func() bool {
		roles := string(a.Stats().Role + b.Stats().Role)
		return strings.Contains(roles, string(group.Leading)) && strings.Contains(roles, string(group.Following))
	})
}

// What does not follow the protocol ends its own connection and nothing else.
func TestStrangers(t *testing.T) {
	at := address(t)
	g := guarded(t, joined(t, at), guard.Policy{Name: "k"})
	hello := framed(1, 0, 0, []byte(`{"version":1}`)...)
	open := framed(3, 0, 0, []byte(`{"name":"k","spec":{}}`)...)
	for name, bytes := range map[string][]byte{
		"noise":                  []byte(strings.Repeat("GET / HTTP/1.1\r\n", 100)),
		"another version":        framed(1, 0, 0, []byte(`{"version":99}`)...),
		"no hello":               framed(2, 0, 0),
		"a frame too large":      append(append([]byte{}, hello...), 0xff, 0xff, 0xff, 0xff),
		"an unknown kind":        append(append([]byte{}, hello...), framed(200, 0, 0)...),
		"a key that is not open": append(append([]byte{}, hello...), framed(7, 7, 0)...),
		"a negative cost":        append(append([]byte{}, hello...), append(open, framed(6, 0, 1, 0, 1, 0, 0, 0, 0)...)...),
		"one call twice":         append(append([]byte{}, hello...), append(open, append(framed(4, 0, 1, 0, 0, 0, 0, 0, 0), framed(4, 0, 1, 0, 0, 0, 0, 0, 0)...)...)...),
		"a key twice":            append(append([]byte{}, hello...), append(open, open...)...),
		"a key without a name":   append(append([]byte{}, hello...), framed(3, 0, 0, []byte(`{}`)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", strings.TrimPrefix(at, "unix:"))
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			_, err = conn.Write(bytes)
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
			_, err = io.Copy(io.Discard, conn)
			assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
		})
	}
}

func framed(kind byte, key uint64, id int64, rest ...byte) []byte {
	b := binary.AppendVarint(binary.AppendUvarint([]byte{kind}, key), id)
	b = append(b, rest...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// A silent connection is given up, and what it holds is free.
func TestAMemberThatSaysNothing(t *testing.T) {
	t.Parallel()
	at := address(t)
	g := guarded(t, joined(t, at), guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}})
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing)) // its policy is the first
	conn, err := net.Dial("unix", strings.TrimPrefix(at, "unix:"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	for _, b := range [][]byte{
		framed(1, 0, 0, []byte(`{"version":1}`)...), framed(3, 0, 0, []byte(`{"name":"k","spec":{}}`)...), framed(6, 0, 1, 0, 0, 0, 0, 0, 0),
	} {
		_, err = conn.Write(b)
		require.NoError(t, err)
	}
	soon(t, func() bool { return errors.Is(g.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited) })
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, nothing))
}

// Members get even shares, however many callers each has.
func TestEvenShares(t *testing.T) {
	at := address(t)
	p := guard.Policy{Name: "k", Limits: throttle.Limits{Concurrency: 1}}
	many, one := guarded(t, joined(t, at), p), guarded(t, joined(t, at), p)
	const calls = 400
	var left, ofOne atomic.Int64
	left.Store(calls)
	var wg sync.WaitGroup
	run := func(g *guard.Guard, served *atomic.Int64) {
		for left.Add(-1) >= 0 {
			assert.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error {
				time.Sleep(time.Millisecond)
				return nil
			}))
			served.Add(1)
		}
	}
	var ofMany atomic.Int64
	for range 32 {
		wg.Go(func() { run(many, &ofMany) })
	}
	wg.Go(func() { run(one, &ofOne) })
	wg.Wait()
	assert.Greater(t, ofOne.Load(), int64(calls/5), "by callers it would be a 33rd")
}

// The quota that a header declares holds for all members before the call ends.
func TestADeclaredQuotaIsShared(t *testing.T) {
	at := address(t)
	p := guard.Policy{Name: "k", Law: adaptive.Measured{}}
	a, b := guarded(t, joined(t, at), p), guarded(t, joined(t, at), p)
	call := a.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	var declared [throttle.Units]adaptive.Meter
	declared[throttle.Requests] = adaptive.Meter{Known: true, Limit: 100, Remaining: 0, Reset: time.Hour}
	assert.True(t, call.ApplyMeters(declared))
	soon(t, func() bool { return errors.Is(b.Try(t.Context(), throttle.Cost{}, nothing), throttle.ErrLimited) })
	_, err = call.End(adaptive.Feedback{Verdict: adaptive.OK})
	require.NoError(t, err)
}

// A 429 inside a call of the group lowers the concurrency of the group.
func TestSignalsReachTheLeader(t *testing.T) {
	at := address(t)
	p := guard.Policy{Name: "k", Law: adaptive.AIMD{Initial: 8}}
	a, b := guarded(t, joined(t, at), p), guarded(t, joined(t, at), p)
	inner, err := guard.New(guard.Policy{Name: "inner", Propagate: true})
	require.NoError(t, err)
	require.NoError(t, a.Do(t.Context(), throttle.Cost{}, func(ctx context.Context) error {
		hit := false
		return inner.Do(ctx, throttle.Cost{}, func(context.Context) error {
			if hit {
				return nil
			}
			hit = true
			return &adaptive.RateLimitHit{RetryAfter: time.Millisecond}
		})
	}))
	soon(t, func() bool { return b.Stats().View.Concurrency == 4 })
}
