package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/meter"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// Quota is a quota.Store, a quota.Inspector and a quota.Waker in a file, for the processes of one host.
// It is safe for concurrent use. Several Quotas, in one process or in many, may have the same file open.
//
// Calls that wait at the same time are decided in one transaction, and processes take turns. A call that
// waits for a slot is asked to retry within 25 ms.
type Quota struct {
	file   *file
	tx     tx
	baton  *baton
	now    func() time.Time
	codec  *meter.Codec
	bytes  []byte // see ledger.write
	hand   string // where the sweep continues
	serves sync.WaitGroup
	wakes  wakes

	mu      sync.Mutex // guards everything below
	queue   []*ask
	serving bool
	closed  bool
}

var (
	_ quota.Store     = (*Quota)(nil)
	_ quota.Inspector = (*Quota)(nil)
	_ quota.Waker     = (*Quota)(nil)
)

// OpenQuota opens the file at path, or creates it with access for this user alone; its folder must
// exist. A file of an earlier release is migrated. It may be the file of a journal. Errors are a
// *FileError, a *NewerError, or *fault.FieldErrors for invalid arguments.
func OpenQuota(path string, opts ...Option) (*Quota, error) {
	f, err := openFile(path, opts)
	if err != nil {
		return nil, err
	}
	q := &Quota{file: f, tx: newTx(f.conn), now: time.Now, codec: meter.NewCodec(epoch())}
	// A decision must survive a kill, but not a loss of power.
	if err = f.exec("PRAGMA synchronous = normal"); err == nil {
		q.baton, err = newBaton(f.path)
	}
	if err != nil {
		err = f.explain(err)
		_ = f.close()
		return nil, err
	}
	handles.add(q)
	return q, nil
}

// epoch is the instant 0 of the store.
func epoch() time.Time { return time.Unix(0, 0).UTC() }

// Close waits for the calls that are under way, and closes the file. Leases remain until they lapse.
func (q *Quota) Close() error {
	q.mu.Lock()
	first := !q.closed
	q.closed = true
	q.mu.Unlock()
	q.serves.Wait()
	if !first {
		return nil
	}
	handles.remove(q)
	return errors.Join(q.tx.close(), q.file.close(), q.baton.close())
}

// Take implements quota.Store.
func (q *Quota) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if ctx.Err() != nil {
		return quota.Grant{}, context.Cause(ctx)
	}
	if err := r.Validate(); err != nil {
		return quota.Grant{}, err
	}
	a := ask{take: &r}
	if err := q.wait(ctx, &a); err != nil {
		return quota.Grant{}, err
	}
	g := a.grant
	if g.Wait == 0 && !r.Peek {
		t := &g.Ticket
		t.ID, t.Demands = strconv.FormatInt(t.Token, 36), slices.Clone(r.Demands)
	}
	if r.Uses {
		g.Uses = make([][]throttle.WindowUse, len(a.grant.Uses))
		for i, uses := range a.grant.Uses { // equal calls were given the same ones
			g.Uses[i] = slices.Clone(uses)
		}
	}
	return g, nil
}

// End implements quota.Store. Amounts outside 0..throttle.MaxAmount are clamped.
func (q *Quota) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	if err := quota.ValidateEnd(t, actual); err != nil {
		return err
	}
	return q.end(ctx, t, func(i int, reserved meter.Amounts) meter.Amounts {
		if actual == nil {
			return reserved
		}
		return tally.Used(actual[i])
	})
}

// Cancel implements quota.Store.
func (q *Quota) Cancel(ctx context.Context, t quota.Ticket) error {
	return q.end(ctx, t, func(int, meter.Amounts) meter.Amounts { return meter.Amounts{} })
}

func (q *Quota) end(ctx context.Context, t quota.Ticket, used func(i int, reserved meter.Amounts) meter.Amounts) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.ID == "" {
		return nil // nothing was taken
	}
	for i := range t.Demands {
		if err := t.Demands[i].Limits.Validate(); err != nil {
			return fmt.Errorf("sqlitestore: the limits of the ticket's demand %d: %w", i, err)
		}
	}
	return q.change(ctx, func(l *ledger) error { return l.end(&t, used) })
}

// Renew implements quota.Store.
func (q *Quota) Renew(ctx context.Context, tickets []quota.Ticket, lease time.Duration) (lost []quota.Ticket, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := quota.ValidateRenew(tickets, lease); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(tickets, quota.Ticket.Leased) {
		return nil, nil
	}
	err = q.change(ctx, func(l *ledger) (err error) {
		lost, err = l.renew(tickets, lease)
		return err
	})
	return lost, err
}

// Cooldown implements quota.Store. Without a positive d it changes nothing.
func (q *Quota) Cooldown(ctx context.Context, key string, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := quota.ValidateCooldown(key); err != nil {
		return err
	}
	return q.change(ctx, func(l *ledger) error { return l.cool(key, d) })
}

// ask is a call that waits for the next transaction.
type ask struct {
	take   *quota.Request      // a Take, or else
	change func(*ledger) error // anything

	taken atomic.Bool // by the transaction, or by the caller when it stops waiting
	grant quota.Grant // of take; its ticket has no ID and no demands yet
	err   error
	done  chan struct{} // closed when grant and err are set
}

func (q *Quota) change(ctx context.Context, do func(*ledger) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return q.wait(ctx, &ask{change: do})
}

var errClosed = fmt.Errorf("sqlitestore: the store was closed: %w", os.ErrClosed)

// wait returns when a has been decided in a transaction. If ctx ends before the
// transaction begins, a is dropped; after that, wait takes one write longer.
func (q *Quota) wait(ctx context.Context, a *ask) error {
	a.done = make(chan struct{})
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return errClosed
	}
	q.queue = append(q.queue, a)
	if !q.serving {
		q.serving = true
		q.serves.Go(q.serve)
	}
	q.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		if a.taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		<-a.done
	}
	return a.err
}

// serve decides until no call waits.
func (q *Quota) serve() {
	for q.waiting() {
		q.decide()
		runtime.Gosched() // callers that were just answered ask again
	}
}

func (q *Quota) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serving = len(q.queue) > 0
	return q.serving
}

// drain returns the waiting calls with contexts that have not ended.
func (q *Quota) drain() []*ask {
	q.mu.Lock()
	asks := q.queue
	q.queue = nil
	q.mu.Unlock()
	return slices.DeleteFunc(asks, func(a *ask) bool { return !a.taken.CompareAndSwap(false, true) })
}

// decide answers the waiting calls in one transaction. It drains the queue after
// the transaction has begun, so that calls that arrive while other processes have
// their turns are included.
func (q *Quota) decide() {
	held := q.baton.take()
	err := q.begin()
	asks := q.drain()
	if err == nil {
		err = q.commit(asks)
	}
	if held {
		q.baton.end()
	}
	if err != nil {
		err = q.file.explain(err)
	}
	for _, a := range asks {
		if err != nil {
			a.err = err
		}
		close(a.done)
	}
}

// begin takes SQLite's write lock.
func (q *Quota) begin() error {
	err := q.file.patiently(func() error {
		_, err := q.tx.exec("BEGIN IMMEDIATE")
		return err
	})
	if err != nil {
		_ = q.file.exec("ROLLBACK") // of a transaction that could not be rolled back before, if there is one
	}
	return err
}

func (q *Quota) commit(asks []*ask) error {
	l, err := newLedger(q)
	if err == nil {
		l.apply(asks)
		err = l.write()
	}
	if err == nil {
		_, err = q.tx.exec("COMMIT")
	}
	if err != nil {
		_ = q.file.exec("ROLLBACK") // unless SQLite did that itself
		return err
	}
	if err := q.file.gone(); err != nil {
		return err
	}
	if len(l.freed) > 0 {
		handles.wake(q, l.freed)
	}
	return nil
}
