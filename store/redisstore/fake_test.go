package redisstore_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/throttle"
)

// fake is a Redis that answers when the test lets it, for tests in virtual time.
type fake struct {
	mu    sync.Mutex
	open  chan struct{} // answers come once it is closed
	left  int           // how many calls fit
	taken []int         // of each take, how many calls it was for
	ended int           // other commands
}

func newFake(left int) *fake { return &fake{open: make(chan struct{}), left: left} }

// Do ignores its context, as go-redis does by default.
func (f *fake) Do(_ context.Context, words ...string) (any, error) {
	f.mu.Lock()
	open := f.open
	f.mu.Unlock()
	<-open
	keys, _ := strconv.Atoi(words[2])
	args := words[3+keys:]
	f.mu.Lock()
	defer f.mu.Unlock()
	if args[1] != "take" {
		f.ended++
		return []any{int64(0), int64(0)}, nil
	}
	n, _ := strconv.Atoi(args[2])
	f.taken = append(f.taken, n)
	fit := min(n, f.left)
	f.left -= fit
	wait := int64(0)
	if fit < n {
		wait = 1000
	}
	return []any{int64(fit), int64(1), int64(1), wait, int64(1), int64(0), int64(0)}, nil
}

// reopen has commands from now on wait for another channel.
func (f *fake) reopen(open chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = open
}

// takes are the calls of each take so far.
func (f *fake) takes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.taken)
}

// ends is how many other commands there were.
func (f *fake) ends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

func (f *fake) Scan(context.Context, string, func(string) bool) error {
	<-f.open
	return nil
}

func (f *fake) Subscribe(context.Context, string, func(), func(string)) error {
	<-f.open
	return nil
}

func request(key string) quota.Request {
	return quota.Request{Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(100, time.Minute)}}}}}
}

func newStore(t *testing.T, c redisstore.Client) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(c)
	require.NoError(t, err)
	return s
}

func TestEqualRequestsShareAScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(40)
		s := newStore(t, f)
		var admitted, refused int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				g, err := s.Take(t.Context(), request("a"))
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				if g.Wait == 0 {
					admitted++
				} else {
					refused++
				}
			})
			if i < 2 {
				synctest.Wait() // each of the first two finds no script to wait for
			}
		}
		synctest.Wait()
		close(f.open)
		wg.Wait()
		assert.Equal(t, 40, admitted)
		assert.Equal(t, 24, refused)
		assert.ElementsMatch(t, []int{1, 1, 62}, f.takes(), "callers that wait while two scripts are under way share the next one")
		require.NoError(t, s.Close())
	})
}

func TestDifferentRequestsAreSentApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(40)
		s := newStore(t, f)
		a, leased, dear := request("a"), request("a"), request("a")
		leased.Lease = time.Second
		dear.Demands[0].Cost.Requests = 2
		wide := request("a")
		wide.Demands[0].Limits.Windows = []throttle.Window{throttle.Sliding(101, time.Minute)}
		slots := request("a")
		slots.Demands[0].Limits.Concurrency, slots.Lease = 1, time.Second
		var wg sync.WaitGroup
		for _, r := range []quota.Request{a, leased, dear, wide, slots, request("b")} {
			wg.Go(func() {
				_, err := s.Take(t.Context(), r)
				assert.NoError(t, err)
			})
		}
		close(f.open)
		wg.Wait()
		assert.Equal(t, []int{1, 1, 1, 1, 1, 1}, f.takes())
		require.NoError(t, s.Close())
	})
}

// A client that ignores its context, on a Redis that has stopped.
func TestNoCallerIsHeldByAStoppedRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		s := newStore(t, f)
		ticket := quota.Ticket{ID: "x", Demands: request("a").Demands}
		ticket.Demands[0].Limits.Concurrency = 1
		calls := map[string]func(ctx context.Context) error{
			"Take": func(ctx context.Context) error { _, err := s.Take(ctx, request("a")); return err },
			"Peek": func(ctx context.Context) error {
				r := request("a")
				r.Peek = true
				_, err := s.Take(ctx, r)
				return err
			},
			"End":    func(ctx context.Context) error { return s.End(ctx, ticket, nil) },
			"Cancel": func(ctx context.Context) error { return s.Cancel(ctx, ticket) },
			"Renew": func(ctx context.Context) error {
				_, err := s.Renew(ctx, []quota.Ticket{ticket}, time.Second)
				return err
			},
			"Cooldown": func(ctx context.Context) error { return s.Cooldown(ctx, "a", time.Second) },
			"Look":     func(ctx context.Context) error { _, err := s.Look(ctx, "a"); return err },
			"Forget":   func(ctx context.Context) error { return s.Forget(ctx, "a") },
			"Changed":  func(ctx context.Context) error { _, err := s.Changed(ctx, "a"); return err },
			"Keys": func(ctx context.Context) (failed error) {
				for _, err := range s.Keys(ctx, "") {
					failed = err
				}
				return failed
			},
		}
		cause := errors.New("enough")
		for name, call := range calls {
			begun := time.Now()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
			require.ErrorIs(t, call(ctx), cause, name)
			cancel()
			assert.Equal(t, 300*time.Millisecond, time.Since(begun), name)

			begun = time.Now()
			ctx, stop := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Millisecond, func() { stop(cause) })
			require.ErrorIs(t, call(ctx), cause, name)
			assert.Equal(t, time.Millisecond, time.Since(begun), name)

			if name == "Keys" {
				continue // the timeouts of the client apply: many steps may find nothing
			}
			begun = time.Now()
			require.ErrorContains(t, call(t.Context()), "no answer", name)
			assert.Equal(t, time.Second, time.Since(begun), "%s: without a deadline", name)
		}
		close(f.open)
		require.NoError(t, s.Close())
	})
}

// More callers than one script admits: those at the end of the queue do not wait for the scripts before theirs.
func TestNoCallerIsHeldByALongQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		s := newStore(t, f)
		begun := time.Now()
		var wg sync.WaitGroup
		for range 2000 {
			wg.Go(func() {
				_, err := s.Take(t.Context(), request("a"))
				assert.ErrorContains(t, err, "no answer")
				assert.Equal(t, time.Second, time.Since(begun))
			})
		}
		wg.Wait()
		close(f.open)
		require.NoError(t, s.Close())
	})
}

// A call fails by its own deadline, also if one before it was answered.
func TestEveryCallHasItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		s := newStore(t, f)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { taken(t, s, request("a")) })
		}
		synctest.Wait()
		close(f.open)
		wg.Wait()
		open := make(chan struct{})
		f.reopen(open)
		for range 2 { // as many scripts as may be under way
			wg.Go(func() { _, _ = s.Take(t.Context(), request("a")) })
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond)
		for range 5 {
			wg.Go(func() {
				begun := time.Now()
				_, err := s.Take(t.Context(), request("a"))
				assert.ErrorContains(t, err, "no answer")
				assert.Equal(t, time.Second, time.Since(begun))
			})
			synctest.Wait()
		}
		wg.Wait()
		close(open)
		require.NoError(t, s.Close())
	})
}

// Callers that have left the queue are not asked for.
func TestDepartedCallersAreNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(9)
		s := newStore(t, f)
		var wg sync.WaitGroup
		join := func(ctx context.Context) {
			wg.Go(func() { _, _ = s.Take(ctx, request("a")) })
			synctest.Wait()
		}
		join(t.Context())
		join(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		for range 5 {
			join(ctx)
		}
		cancel()
		synctest.Wait()
		join(t.Context())
		close(f.open)
		wg.Wait()
		assert.Equal(t, []int{1, 1, 1}, f.takes())
		assert.Zero(t, f.ends(), "so there is nothing to give back")
		require.NoError(t, s.Close())
	})
}

// Slots that are given back one by one do not hold up the next callers, even if Redis stops meanwhile.
func TestGivingBackHoldsNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		s := newStore(t, f)
		first, rest := f.open, make(chan struct{})
		r := leased("a", 1000)
		join := func(ctx context.Context) { go func() { _, _ = s.Take(ctx, r) }() }
		for range 2 { // each finds no script to wait for
			join(t.Context())
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 200 {
			join(ctx)
		}
		synctest.Wait()
		f.reopen(make(chan struct{}))
		second := f.open
		close(first)
		synctest.Wait() // the 200 are asked for
		cancel()
		synctest.Wait()
		f.reopen(rest)
		close(second)
		synctest.Wait() // they have left, and are to be given back to a Redis that has stopped
		time.Sleep(10 * time.Second)
		close(rest)
		synctest.Wait()
		assert.Equal(t, 1, f.ends(), "leases lapse: one command without an answer is enough")
		for range 3 {
			taken(t, s, r)
		}
		require.NoError(t, s.Close())
	})
}

// Nor by one that stops between the groups of a Take.
func TestNoCallerIsHeldBetweenGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(9)
		s, err := redisstore.New(f, redisstore.WithGroups(func(key string) string { return key }))
		require.NoError(t, err)
		r := request("a")
		r.Demands = append(r.Demands, request("b").Demands...)
		first, rest := f.open, make(chan struct{})
		go func() {
			synctest.Wait() // the first group is asked
			f.reopen(rest)
			close(first)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err = s.Take(ctx, r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 300*time.Millisecond, time.Since(begun))
		close(rest)
		synctest.Wait()
		assert.Equal(t, 2, f.ends(), "both are given back: the reserved one, and the late one")
		require.NoError(t, s.Close())
	})
}

// What a caller is granted after it has left is given back.
func TestLateGrantsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(9)
		s := newStore(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.Take(ctx, request("a"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Millisecond)
		close(f.open)
		synctest.Wait()
		assert.Equal(t, 1, f.ends(), "a caller has left, the script was in time")

		f.reopen(make(chan struct{}))
		_, err = s.Take(t.Context(), request("a"))
		require.ErrorContains(t, err, "no answer")
		close(f.open)
		synctest.Wait()
		assert.Equal(t, 2, f.ends(), "the script was late")
		require.NoError(t, s.Close())
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(9)
		s := newStore(t, f)
		failed := make(chan error)
		go func() {
			_, err := s.Take(t.Context(), request("a"))
			failed <- err
		}()
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		require.ErrorContains(t, <-failed, "closed")
		close(f.open)
		require.NoError(t, <-closed)
		require.NoError(t, s.Close())
		_, err := s.Take(t.Context(), request("a"))
		require.EqualError(t, err, "redisstore: the store is closed")
		require.ErrorIs(t, err, os.ErrClosed)
		require.ErrorContains(t, s.Cooldown(t.Context(), "a", time.Second), "closed")
		_, err = s.Changed(t.Context(), "a")
		require.ErrorContains(t, err, "closed")
		err = nil
		for _, err = range s.Keys(t.Context(), "") {
			require.ErrorContains(t, err, "closed")
		}
		require.Error(t, err)
	})
}

func TestOptions(t *testing.T) {
	for problem, build := range map[string]func() error{
		"redisstore: Client: ":      func() error { _, err := redisstore.New(nil); return err },
		"redisstore: WithPrefix: ":  func() error { _, err := redisstore.New(newFake(0), redisstore.WithPrefix("a{b}")); return err },
		"redisstore: WithTimeout: ": func() error { _, err := redisstore.New(newFake(0), redisstore.WithTimeout(0)); return err },
		"redisstore: opts[0]: nil":  func() error { _, err := redisstore.New(newFake(0), nil); return err },
		"redisstore: opts[1]: nil": func() error {
			_, err := redisstore.Open("redis://localhost:6379/0", redisstore.WithPrefix("a"), nil)
			return err
		},
		"redisstore: URL: ": func() error { _, err := redisstore.Open("localhost"); return err },
	} {
		err := build()
		require.ErrorContains(t, err, problem)
		require.ErrorAs(t, err, new(*fault.FieldError), problem)
	}
	for _, url := range []string{"redis://me:hunter2@host:bad/0", "redis://me:hunter2/x@host", "redis://me:%zzhunter2@host", "hunter2@host", "redis://host/hunter2", "redis://host?hunter2=1", "redis:hunter2@host:6379/0", "rediss:hunter2@host"} {
		_, err := redisstore.Open(url)
		require.ErrorContains(t, err, "redisstore: URL: ")
		assert.NotContains(t, err.Error(), "hunter2", "it may be a password")
	}
}
