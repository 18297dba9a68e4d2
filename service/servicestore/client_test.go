package servicestore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/throttle"
)

// hourly admits n calls an hour.
func hourly(n int64) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Hour)}}
}

func request(key string, l throttle.Limits) quota.Request {
	return quota.Request{Demands: []quota.Demand{{Key: key, Limits: l}}, Lease: time.Minute}
}

// odd is a store of which some methods are replaced.
type odd struct {
	quota.MemoryStore

	take    func(ctx context.Context, r quota.Request) (quota.Grant, error)
	end     func(t quota.Ticket) error
	batches atomic.Int64
}

func (o *odd) TakeBatch(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	o.batches.Add(1)
	if o.take == nil {
		return o.MemoryStore.TakeBatch(ctx, r, n)
	}
	grants := make([]quota.Grant, n)
	for i := range grants {
		var err error
		if grants[i], err = o.take(ctx, r); err != nil {
			return nil, err
		}
	}
	return grants, nil
}

func (o *odd) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if o.take == nil {
		return o.MemoryStore.Take(ctx, r)
	}
	return o.take(ctx, r)
}

func (o *odd) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	if o.end == nil {
		return o.MemoryStore.End(ctx, t, actual)
	}
	return o.end(t)
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		address string
		option  servicestore.Option
		want    string // "" for no error
	}{
		{"https://limits.internal", servicestore.WithToken("a"), ""},
		{"https://limits.internal:8790/", servicestore.WithTLS(&tls.Config{}), ""},
		{"http://limits.internal:8790", nil, ""},
		{"http://127.0.0.1:8790", servicestore.WithToken("a"), ""},
		{"http://[::1]:8790", servicestore.WithToken("a"), ""},
		{"http://localhost:8790", servicestore.WithToken("a"), ""},
		{"unix:/run/headrace.sock", servicestore.WithToken("a"), ""},
		{"", nil, "servicestore: Address: it is not the address of a server: write https://HOST:PORT, http://HOST:PORT or unix:PATH"},
		{"limits.internal:8790", nil, "servicestore: Address: it is not the address of a server"},
		{"redis://limits.internal", nil, "servicestore: Address: it is not the address of a server"},
		{"https://", nil, "servicestore: Address: it is not the address of a server"},
		{"https://h:port", nil, "servicestore: Address: it is not the address of a server"},
		{"unix:", nil, "servicestore: Address: it ends after the colon"},
		{"https://s3cret@h", nil, "servicestore: Address: it contains a user or a password: use WithToken"},
		{"https://h/s3cret", nil, "servicestore: Address: unexpected text after the host"},
		{"https://h?s3cret", nil, "servicestore: Address: unexpected text after the host"},
		{"http://limits.internal", servicestore.WithToken("s3cret"), "servicestore: WithToken: http:// would send it to another machine in cleartext: use https://"},
		{"https://h", servicestore.WithToken("Bearer s3cret"), "servicestore: WithToken: it contains a space"},
		{"http://h", servicestore.WithTLS(&tls.Config{}), "servicestore: WithTLS: the address is without TLS: use https://"},
		{"https://h", servicestore.WithTimeout(-1), "servicestore: WithTimeout: -1ns is not positive"},
	} {
		var options []servicestore.Option
		if c.option != nil {
			options = append(options, c.option)
		}
		s, err := servicestore.Open(c.address, options...)
		if c.want == "" {
			require.NoError(t, err, c.address)
			require.NoError(t, s.Close())
			assert.NotContains(t, fmt.Sprintf("%v", err), "s3cret")
			continue
		}
		require.ErrorContains(t, err, c.want, c.address)
		require.ErrorAs(t, err, new(*fault.FieldError))
		assert.NotContains(t, err.Error(), "s3cret")
	}
	_, err := servicestore.Open("nowhere", servicestore.WithTimeout(0), nil)
	for _, problem := range []string{"Address", "WithTimeout", "servicestore: opts[1]: nil: leave it out"} {
		require.ErrorContains(t, err, problem, "all problems are joined")
	}
}

// The errors of the store arrive with their types.
func TestErrors(t *testing.T) {
	o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
	l, address := listen(t, "tcp")
	serve(t, l, grpcserve.Config{Store: o})
	s := open(t, address, servicestore.WithTimeout(forGood))
	r := request("a", throttle.Limits{Concurrency: 1})
	for name, c := range map[string]struct {
		err   error
		check func(t *testing.T, err error)
	}{
		"field": {
			errors.Join(&fault.FieldError{Owner: "quota", Field: "Lease", Problem: "one"}, fmt.Errorf("it: %w", &fault.FieldError{Owner: "o", Field: "f", Problem: "two"})),
			func(t *testing.T, err error) {
				t.Helper()
				assert.EqualError(t, err, "quota: Lease: one\no: f: two")
				require.ErrorAs(t, err, new(*fault.FieldError))
			},
		},
		"cost": {
			&throttle.CostError{Limiter: "service/store/a", Unit: throttle.Tokens, Amount: 7, Max: 5, Window: throttle.Sliding(5, time.Hour).Of(throttle.Tokens)},
			func(t *testing.T, err error) {
				t.Helper()
				assert.Equal(t, &throttle.CostError{Limiter: "a", Unit: throttle.Tokens, Amount: 7, Max: 5, Window: throttle.Sliding(5, time.Hour).Of(throttle.Tokens)}, err)
			},
		},
		"lease": {
			fmt.Errorf("%w: ticket 7", quota.ErrLeaseLost),
			func(t *testing.T, err error) {
				t.Helper()
				require.ErrorIs(t, err, quota.ErrLeaseLost)
				assert.EqualError(t, err, "quota: lease lost: ticket 7")
			},
		},
		"unavailable": {
			&decide.UnavailableError{Reason: decide.BreakerOpen, RetryAfter: 3 * time.Second, Cause: errors.New("secret.host")},
			func(t *testing.T, err error) {
				t.Helper()
				u, ok := errors.AsType[*servicestore.UnavailableError](err)
				require.True(t, ok)
				assert.Equal(t, 3*time.Second, u.RetryAfter)
				assert.NotContains(t, err.Error(), "secret")
			},
		},
		"any other": {
			errors.New("dial secret.host:6379"),
			func(t *testing.T, err error) {
				t.Helper()
				assert.EqualError(t, err, "servicestore: unavailable: the store is unavailable")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.take = func(context.Context, quota.Request) (quota.Grant, error) { return quota.Grant{}, c.err }
			o.end = func(quota.Ticket) error { return c.err }
			_, err := s.Take(t.Context(), r)
			c.check(t, err)
			c.check(t, s.End(t.Context(), quota.Ticket{ID: "7", Demands: r.Demands}, nil))
		})
	}
	o.take = func(context.Context, quota.Request) (quota.Grant, error) { panic("of the store") }
	o.end = func(quota.Ticket) error { panic("of the store") }
	_, err := s.Take(t.Context(), r)
	require.ErrorContains(t, err, "internal error")
	require.ErrorContains(t, s.End(t.Context(), quota.Ticket{ID: "7", Demands: r.Demands}, nil), "internal error")
}

// A server that does not answer costs the timeout, and Close does not wait for it.
func TestSlow(t *testing.T) {
	hang := make(chan struct{})
	o := &odd{MemoryStore: quota.NewMemoryStore(nil), take: func(ctx context.Context, _ quota.Request) (quota.Grant, error) {
		select {
		case <-hang:
		case <-ctx.Done():
		}
		return quota.Grant{}, context.Cause(ctx)
	}}
	defer close(hang)
	l, address := listen(t, "tcp")
	serve(t, l, grpcserve.Config{Store: o})
	s := open(t, address, servicestore.WithTimeout(50*time.Millisecond))
	_, err := s.Take(t.Context(), request("a", hourly(1)))
	require.ErrorAs(t, err, new(*servicestore.UnavailableError))
	assert.EqualError(t, err, "servicestore: unavailable: no answer in time")

	patient := open(t, address, servicestore.WithTimeout(forGood))
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			_, err := patient.Take(t.Context(), request("a", hourly(1)))
			assert.EqualError(t, err, "servicestore: the store is closed")
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	wg.Go(func() {
		_, err := patient.Take(ctx, request("a", hourly(1)))
		assert.ErrorIs(t, err, gone)
		assert.NoError(t, patient.Close())
	})
	cancel(gone)
	wg.Wait()
	_, err = patient.Take(t.Context(), request("a", hourly(1)))
	require.EqualError(t, err, "servicestore: the store is closed")
	require.ErrorIs(t, err, os.ErrClosed)
	require.EqualError(t, patient.Cooldown(t.Context(), "a", time.Second), "servicestore: the store is closed")
	_, err = patient.Changed(t.Context(), "a")
	require.EqualError(t, err, "servicestore: the store is closed")
	for _, err := range patient.Keys(t.Context(), "") {
		require.EqualError(t, err, "servicestore: the store is closed")
	}
}

// What callers take that have gone meanwhile is given back, whether the answer reaches the client or not.
func TestGivenBack(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"the answer arrives": forGood, "the answer is too late": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				taken, answer := make(chan struct{}, 1), make(chan struct{})
				o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
				o.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
					g, err := o.MemoryStore.Take(context.WithoutCancel(ctx), r)
					taken <- struct{}{}
					if <-answer; timeout < forGood {
						<-ctx.Done()
					}
					return g, err
				}
				l := pipenet.Listen()
				serve(t, l, grpcserve.Config{Store: o})
				s := openIn(t, l, servicestore.WithTimeout(timeout))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error)
				go func() {
					_, err := s.Take(ctx, request("a", hourly(1)))
					done <- err
				}()
				<-taken
				if timeout == forGood {
					cancel()
				}
				require.Error(t, <-done)
				close(answer)
				synctest.Wait()
				state, err := o.Look(t.Context(), "service/store/a")
				require.NoError(t, err)
				require.True(t, len(state.Uses) == 0 || state.Uses[0].Spent == 0)
			})
		})
	}
}

// busy is a client with as many requests under way as it may have: the next calls wait, and share requests once hold is closed.
type busy struct {
	*servicestore.Store

	requests atomic.Int64
	calls    sync.WaitGroup
	hold     chan struct{}
}

// openBusy opens a client of a service with a store that is o, or calls it.
func openBusy(t *testing.T, o *odd, store quota.Store) *busy {
	t.Helper()
	s := &busy{hold: make(chan struct{})}
	o.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
		if r.Demands[0].Key == "service/store/first" {
			<-s.hold
		}
		return o.MemoryStore.Take(ctx, r)
	}
	l, address := listen(t, "tcp")
	serve(t, l, grpcserve.Config{Store: store})
	s.Store = open(t, address, servicestore.WithTimeout(forGood))
	servicestore.Observe(s.Store, func(int) { s.requests.Add(1) })
	for i := range 2 {
		s.calls.Go(func() {
			_, err := s.Take(t.Context(), request("first", hourly(10)))
			assert.NoError(t, err)
		})
		require.Eventually(t, func() bool { return s.requests.Load() == int64(i+1) }, forGood, time.Millisecond)
	}
	return s
}

// Callers that ask while a request is under way share the next one, and equal ones are one batch in it.
func TestMerged(t *testing.T) {
	for name, batching := range map[string]bool{"a store with batches": true, "a store without": false} {
		t.Run(name, func(t *testing.T) { testMerged(t, batching) })
	}
}

func testMerged(t *testing.T, batching bool) {
	t.Helper()
	const callers = 50
	o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
	var store quota.Store = o
	if !batching {
		store = struct{ quota.Store }{o}
	}
	s := openBusy(t, o, store)
	wg := &s.calls
	var admitted atomic.Int64
	for i := range callers {
		wg.Go(func() {
			g, err := s.Take(t.Context(), request([]string{"a", "b"}[i%2], hourly(10)))
			assert.NoError(t, err)
			if g.Wait == 0 {
				admitted.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return servicestore.Waiting(s.Store) == callers }, forGood, time.Millisecond)
	close(s.hold)
	wg.Wait()
	assert.EqualValues(t, 20, admitted.Load(), "ten of each")
	assert.LessOrEqual(t, s.requests.Load(), int64(4), "two that were held, and one or two for the rest")
	if n := o.batches.Load(); batching {
		assert.True(t, n >= 1 && n <= 4, "%d batches of equal calls, in one or two requests", n)
	} else {
		assert.Zero(t, n)
	}
}

// As many calls as share a request fit in what a server accepts, however long their keys are.
func TestLongKeysAreMerged(t *testing.T) {
	const callers, demands = 256, 16
	o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
	s := openBusy(t, o, o)
	wg := &s.calls
	tickets := make([]quota.Ticket, callers)
	for i := range callers {
		wg.Go(func() {
			r := quota.Request{Lease: time.Minute}
			for j := range demands {
				key := fmt.Sprintf("%d/%d/", i, j)
				key += strings.Repeat("k", 1024-len(key))
				r.Demands = append(r.Demands, quota.Demand{Key: key, Limits: throttle.Limits{Concurrency: 1}})
			}
			g, err := s.Take(t.Context(), r)
			assert.NoError(t, err)
			tickets[i] = g.Ticket
		})
	}
	require.Eventually(t, func() bool { return servicestore.Waiting(s.Store) == callers }, forGood, time.Millisecond)
	close(s.hold)
	wg.Wait()
	lost, err := s.Renew(t.Context(), tickets, time.Minute)
	require.NoError(t, err)
	assert.Empty(t, lost)
}

// damaged is a store that cannot read one of its keys.
type damaged struct {
	quota.MemoryStore

	renewed atomic.Int64 // requests without that key
}

func (d *damaged) Renew(ctx context.Context, tickets []quota.Ticket, lease time.Duration) ([]quota.Ticket, error) {
	for _, t := range tickets {
		if strings.HasSuffix(t.Demands[0].Key, "/damaged") {
			return nil, &fault.FieldError{Owner: "store", Field: "key", Problem: "damaged"}
		}
	}
	d.renewed.Add(1)
	return d.MemoryStore.Renew(ctx, tickets, lease)
}

// Leases that need several requests are renewed beside a damaged key.
func TestRenewalsBesideADamagedKey(t *testing.T) {
	store := &damaged{MemoryStore: quota.NewMemoryStore(nil)}
	l, address := listen(t, "tcp")
	serve(t, l, grpcserve.Config{Store: store})
	s := open(t, address, servicestore.WithTimeout(forGood))
	tickets := make([]quota.Ticket, 600) // three requests
	for i := range tickets {
		key := "fine"
		if i == 0 {
			key = "damaged"
		}
		g, err := s.Take(t.Context(), quota.Request{Lease: time.Minute, Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Concurrency: len(tickets)}}}})
		require.NoError(t, err)
		tickets[i] = g.Ticket
	}
	lost, err := s.Renew(t.Context(), tickets, time.Minute)
	require.ErrorAs(t, err, new(*fault.FieldError))
	assert.Empty(t, lost)
	assert.EqualValues(t, 2, store.renewed.Load())
}

// A key that no message can hold is the error of its caller alone, and never reaches the callers that would share the
// message with it.
func TestKeyThatIsNotUTF8(t *testing.T) {
	const bad = "user/\xff"
	o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
	s := openBusy(t, o, o)
	wg := &s.calls
	wg.Go(func() {
		_, err := s.Take(t.Context(), request("a", hourly(10)))
		assert.NoError(t, err)
	})
	require.Eventually(t, func() bool { return servicestore.Waiting(s.Store) == 1 }, forGood, time.Millisecond)
	refused := make(chan error, 1)
	go func() {
		_, err := s.Take(t.Context(), request(bad, hourly(10)))
		refused <- err
	}()
	require.Eventually(t, func() bool { return len(refused) == 1 || servicestore.Waiting(s.Store) == 2 }, forGood, time.Millisecond)
	close(s.hold)
	wg.Wait()

	ticket := quota.Ticket{ID: "7", Demands: request(bad, throttle.Limits{Concurrency: 1}).Demands}
	_, renewed := s.Renew(t.Context(), []quota.Ticket{ticket}, time.Minute)
	_, looked := s.Look(t.Context(), bad)
	_, watched := s.Changed(t.Context(), bad)
	for name, err := range map[string]error{
		"Take": <-refused, "End": s.End(t.Context(), ticket, nil), "Cancel": s.Cancel(t.Context(), ticket), "Renew": renewed,
		"Cooldown": s.Cooldown(t.Context(), bad, time.Second), "Look": looked, "Forget": s.Forget(t.Context(), bad), "Changed": watched,
	} {
		f, ok := errors.AsType[*fault.FieldError](err)
		require.True(t, ok, "%s: %v", name, err)
		assert.Contains(t, f.Problem, "UTF-8", name)
	}
	for _, err := range s.Keys(t.Context(), bad) {
		require.ErrorAs(t, err, new(*fault.FieldError))
	}
}

// A client finds a server that has come back, and fails at once until then.
func TestRestart(t *testing.T) {
	at, err := freeport.Address(t.Context())
	require.NoError(t, err)
	l, err := net.Listen("tcp", at)
	require.NoError(t, err)
	stop := serve(t, l, grpcserve.Config{Store: quota.NewMemoryStore(nil)})
	s := open(t, "http://"+at, servicestore.WithTimeout(forGood))
	_, err = s.Take(t.Context(), request("a", hourly(5)))
	require.NoError(t, err)
	changed, err := s.Changed(t.Context(), "a")
	require.NoError(t, err)
	stop()
	select {
	case <-changed:
	case <-time.NewTimer(forGood).C:
		t.Error("a watcher does not learn that the connection is lost")
	}
	require.Eventually(t, func() bool {
		_, err = s.Take(t.Context(), request("a", hourly(5)))
		return err != nil
	}, forGood, time.Millisecond)
	require.ErrorAs(t, err, new(*servicestore.UnavailableError))

	again, err := net.Listen("tcp", at)
	require.NoError(t, err)
	serve(t, again, grpcserve.Config{Store: quota.NewMemoryStore(nil)})
	require.Eventually(t, func() bool {
		_, err = s.Take(t.Context(), request("a", hourly(5)))
		return err == nil
	}, forGood, 10*time.Millisecond)
}

// One stream serves all watchers of a key, and ends with the last of them.
func TestWatchers(t *testing.T) {
	o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
	l, address := listen(t, "tcp")
	serve(t, l, grpcserve.Config{Store: o})
	s := open(t, address, servicestore.WithTimeout(forGood))
	slot := request("a", throttle.Limits{Concurrency: 1})
	first, cancelFirst := context.WithCancel(t.Context())
	defer cancelFirst()
	second, cancelSecond := context.WithCancel(t.Context())
	defer cancelSecond()
	one, err := s.Changed(first, "a", "b")
	require.NoError(t, err)
	two, err := s.Changed(second, "a")
	require.NoError(t, err)
	assert.Equal(t, 2, servicestore.Watched(s), "a and b")
	g, err := s.Take(t.Context(), slot)
	require.NoError(t, err)
	require.NoError(t, s.End(t.Context(), g.Ticket, nil))
	<-one
	<-two
	cancelFirst()
	require.Eventually(t, func() bool { return servicestore.Watched(s) == 1 }, forGood, time.Millisecond)
	cancelSecond()
	require.Eventually(t, func() bool { return servicestore.Watched(s) == 0 }, forGood, time.Millisecond)

	for i := range 256 {
		_, err := s.Changed(t.Context(), strconv.Itoa(i))
		require.NoError(t, err)
	}
	_, err = s.Changed(t.Context(), "one more")
	require.ErrorContains(t, err, "256 keys are watched already")
	_, err = s.Take(t.Context(), slot)
	require.NoError(t, err, "watching leaves room for calls")
}

func TestTLS(t *testing.T) {
	h := httptest.NewTLSServer(nil)
	defer h.Close()
	trusted := h.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trusted.ServerName = "example.com"
	l, address := listen(t, "tcp")
	serve(t, tls.NewListener(l, &tls.Config{Certificates: h.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}),
		grpcserve.Config{Store: quota.NewMemoryStore(nil)})
	address = "https" + strings.TrimPrefix(address, "http")
	s := open(t, address, servicestore.WithTLS(trusted), servicestore.WithTimeout(forGood))
	_, err := s.Take(t.Context(), request("a", hourly(5)))
	require.NoError(t, err)
	_, err = open(t, address, servicestore.WithTimeout(forGood)).Take(t.Context(), request("a", hourly(5)))
	require.ErrorContains(t, err, "certificate", "it is of no known authority")
}
