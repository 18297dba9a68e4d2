package sqlitestore_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// perHour is a request under a limit of n requests in an hour.
func perHour(key string, n int64) quota.Request {
	return quota.Request{Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Hour)}}}}}
}

// slot is a request of one of n slots.
func slot(key string, n int) quota.Request {
	return quota.Request{Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Concurrency: n}}}, Lease: time.Hour}
}

func took(t *testing.T, q *sqlitestore.Quota, r quota.Request) quota.Ticket {
	t.Helper()
	g, err := q.Take(t.Context(), r)
	require.NoError(t, err)
	require.Zero(t, g.Wait, "%s", g.Bound)
	return g.Ticket
}

func waits(t *testing.T, q *sqlitestore.Quota, r quota.Request) time.Duration {
	t.Helper()
	g, err := q.Take(t.Context(), r)
	require.NoError(t, err)
	require.Positive(t, g.Wait)
	return g.Wait
}

// beHolder stays in a transaction until it is killed.
func beHolder(path string) error {
	q, err := sqlitestore.OpenQuota(path)
	if err != nil {
		return err
	}
	return q.CoolAnd(context.Background(), "a", time.Hour, func() {
		fmt.Println("holding")
		_, _ = io.Copy(io.Discard, os.Stdin)
	})
}

// A process that is stopped within a transaction holds others for as long as
// they allow. When it is killed they go on, and what it had not committed did not happen.
func TestAWriterThatIsStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil, sqlitestore.WithBusyTimeout(100*time.Millisecond))
	q.Impatient(time.Millisecond)
	kept := took(t, q, slot("kept", 1))
	patient := openQuota(t, path, nil, sqlitestore.WithBusyTimeout(time.Minute))

	cmd := quotaChild(t, "hold", path)
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = input.Close() }()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	(&member{cmd: cmd}).stop()

	_, err = q.Take(t.Context(), perHour("a", 1))
	wantReason(t, err, sqlitestore.ErrLocked, path)
	wantReason(t, q.End(t.Context(), kept, nil), sqlitestore.ErrLocked, path)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := patient.Take(ctx, perHour("a", 1))
		ended <- err
	}()
	for patient.Waiting() < 1 {
		runtime.Gosched()
	}
	cancel(why)
	require.ErrorIs(t, <-ended, why)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	took(t, q, perHour("a", 1))
	waits(t, q, slot("kept", 1))
	require.NoError(t, q.End(t.Context(), kept, nil), "the End before changed nothing")
	verify(t, path, nil)
}

// A turn that is held and not used delays other processes only for a while.
func TestATurnThatDoesNotEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	q.Impatient(time.Millisecond)
	release := lockTurn(t, path)
	for range 3 {
		took(t, q, perHour("a", 3))
	}
	waits(t, q, perHour("a", 3))
	release()
	another := openQuota(t, path, nil)
	another.Impatient(time.Hour) // it has to get the turn
	for range 3 {
		waits(t, another, perHour("a", 3))
		waits(t, q, perHour("a", 3))
	}
}

// A Quota can be closed while it is not its turn.
func TestClosingWithoutATurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q, err := sqlitestore.OpenQuota(path)
	require.NoError(t, err)
	q.Impatient(time.Millisecond)
	release := lockTurn(t, path)
	took(t, q, perHour("a", 1))
	require.NoError(t, q.Close())
	require.NoError(t, q.Close())
	release() // the goroutine that waited ends: goleak looks for it
	_, err = q.Take(t.Context(), perHour("a", 1))
	require.ErrorIs(t, err, fs.ErrClosed)
	require.ErrorIs(t, q.Forget(t.Context(), "a"), fs.ErrClosed)
}

// together makes these calls wait, in their order, for one transaction.
func together(t *testing.T, q *sqlitestore.Quota, path string, requests []quota.Request) []quota.Grant {
	t.Helper()
	release := lock(t, path)
	grants := make([]quota.Grant, len(requests))
	var all sync.WaitGroup
	for i, r := range requests {
		all.Go(func() {
			var err error
			grants[i], err = q.Take(t.Context(), r)
			assert.NoError(t, err)
		})
		for q.Waiting() <= i {
			runtime.Gosched()
		}
	}
	release()
	all.Wait()
	return grants
}

// Calls that wait at the same time are decided together: as many as fit, at one instant.
func TestCallsAreDecidedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	r := quota.Request{Lease: time.Hour, Uses: true, Demands: []quota.Demand{
		{Key: "a", Limits: throttle.Limits{Concurrency: 30, Windows: []throttle.Window{throttle.Sliding(50, time.Hour)}}},
		{Key: "b", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(1e-3, 40).Of(throttle.Tokens)}}, Cost: throttle.Cost{Tokens: 2}},
	}}
	instants, tokens, refused := map[int64]int{}, map[int64]bool{}, 0
	for _, g := range together(t, q, path, slices.Repeat([]quota.Request{r}, 100)) {
		if g.Wait > 0 {
			assert.Equal(t, 1, g.Demand, "the bucket holds %s", g.Bound)
			refused++
		} else {
			instants[g.Ticket.At]++
			tokens[g.Ticket.Token] = true
		}
		assert.Equal(t, int64(40), g.Uses[1][0].Spent)
		g.Uses[1][0].Spent = 0 // each caller has its own
	}
	assert.Len(t, instants, 1, "all of them have one instant")
	assert.Len(t, tokens, 20)
	assert.Equal(t, 80, refused)
}

func TestAFullDiskOfLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	kept := took(t, q, slot("kept", 1))
	require.NoError(t, q.Exec("PRAGMA max_page_count = 1")) // it becomes the size of the file
	var err error
	last := 0
	for ; err == nil && last < 10_000; last++ {
		_, err = q.Take(t.Context(), perHour(strconv.Itoa(last), 1))
	}
	wantReason(t, err, sqlitestore.ErrFull, path)
	require.NoError(t, q.End(t.Context(), kept, nil), "what needs no room goes on")
	require.NoError(t, q.Exec("PRAGMA max_page_count = 1000000"))
	took(t, q, perHour(strconv.Itoa(last-1), 1))
	waits(t, q, perHour(strconv.Itoa(last-2), 1))
	verify(t, path, nil)
}

func TestLimitsThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	require.NoError(t, q.Exec("PRAGMA query_only = 1"))
	_, err := q.Take(t.Context(), perHour("a", 1))
	wantReason(t, err, sqlitestore.ErrReadOnly, path)
	wantReason(t, q.Cooldown(t.Context(), "a", time.Hour), sqlitestore.ErrReadOnly, path)
	require.NoError(t, q.Exec("PRAGMA query_only = 0"))
	took(t, q, perHour("a", 1))
}

func TestLimitsWhoseFileIsGone(t *testing.T) {
	for name, suffix := range map[string]string{"the file": "", "its log": "-wal", "the index of its log": "-shm"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "quota.db")
			q, err := sqlitestore.OpenQuota(path)
			require.NoError(t, err)
			defer func() { _ = q.Close() }()
			took(t, q, perHour("a", 1))
			require.NoError(t, os.Remove(path+suffix))
			_, err = q.Take(t.Context(), perHour("a", 1))
			wantReason(t, err, sqlitestore.ErrGone, path)
		})
	}
}

// SQLite has -wal and -shm next to the target of a symbolic link.
func TestAFileBehindASymbolicLink(t *testing.T) {
	folder := t.TempDir()
	target, path := filepath.Join(folder, "target", "quota.db"), filepath.Join(folder, "link.db")
	require.NoError(t, os.Mkdir(filepath.Dir(target), 0o700))
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err) // Windows may not allow it
	}
	q := openQuota(t, path, nil)
	took(t, q, perHour("a", 1))
	require.NoError(t, os.Remove(target+"-wal"))
	_, err := q.Take(t.Context(), perHour("b", 1))
	wantReason(t, err, sqlitestore.ErrGone, path)
	require.ErrorContains(t, err, "quota.db-wal is missing")
}

// A second store on a file does not end the locks of the first. Otherwise the next program that looks into the file
// would take itself for the only one, and delete the log.
func TestOpeningAFileTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	require.NoError(t, quotaChild(t, "lock", path).Run())
	require.NoError(t, openQuota(t, path, nil).Close())
	took(t, q, perHour("a", 1))
	require.NoError(t, quotaChild(t, "lock", path).Run())
}

// A transaction that was left open does not make the next calls fail.
func TestATransactionThatWasLeftOpen(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	require.NoError(t, q.Exec("BEGIN IMMEDIATE"))
	_, err := q.Take(t.Context(), perHour("a", 1))
	require.Error(t, err)
	took(t, q, perHour("a", 1))
}

// What a call used in excess counts also if its key was forgotten.
func TestExcessOfAForgottenKey(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	held := took(t, q, perHour("a", 3))
	require.NoError(t, q.Forget(t.Context(), "a"))
	require.NoError(t, q.End(t.Context(), held, []throttle.Cost{{Requests: 4}}))
	waits(t, q, perHour("a", 3))
}

// A row that is damaged is an error for the calls that need it, until it is forgotten.
func TestDamagedLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	for _, key := range []string{"a", "b"} {
		took(t, q, perHour(key, 2))
	}
	change := func(to string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec(to)
		require.NoError(t, errors.Join(err, db.Close()))
	}
	change(`UPDATE quotas SET state = (SELECT state FROM quotas WHERE key = x'62') WHERE key = x'61'`)
	_, err := q.Take(t.Context(), quota.Request{Demands: append(perHour("b", 2).Demands, perHour("a", 2).Demands...)})
	wantReason(t, err, sqlitestore.ErrDamaged, path)
	require.ErrorContains(t, err, `the limits of "a"`)
	f, err := quota.WithFallback(q, quota.Fallback{Timeout: time.Minute})
	require.NoError(t, err)
	for range 10 {
		_, err = f.Take(t.Context(), perHour("a", 2))
		wantReason(t, err, sqlitestore.ErrDamaged, path)
	}
	assert.Zero(t, f.Stats().Failed, "the store works")
	_, err = q.Look(t.Context(), "a")
	wantReason(t, err, sqlitestore.ErrDamaged, path)
	wantReason(t, q.Cooldown(t.Context(), "a", time.Hour), sqlitestore.ErrDamaged, path)
	took(t, q, perHour("b", 2))
	var keys []string
	for key, err := range q.Keys(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	assert.Equal(t, []string{"a", "b"}, keys)
	require.NoError(t, q.Forget(t.Context(), "a"))
	took(t, q, perHour("a", 2))

	change(`UPDATE quotas SET state = x'00' WHERE key = x''`)
	_, err = q.Take(t.Context(), perHour("b", 2))
	wantReason(t, err, sqlitestore.ErrDamaged, path)
}

// A damaged key fails alone: the leases of the others are extended, and the error names it.
func TestRenewingBesideADamagedKey(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "quota.db"), newHostClock()
	q := openQuota(t, path, clock)
	both := quota.Request{Lease: slot("a", 2).Lease, Demands: append(slot("d", 2).Demands, slot("b", 1).Demands...)}
	tickets := []quota.Ticket{took(t, q, slot("a", 1)), took(t, q, both), took(t, q, slot("c", 1))}
	lapsed := took(t, q, slot("e", 1))
	require.NoError(t, q.Cancel(t.Context(), lapsed))
	require.NoError(t, q.Exec(`UPDATE quotas SET state = x'00' WHERE key = x'62'`))
	lost, err := q.Renew(t.Context(), append(tickets, lapsed), 10*time.Hour)
	wantReason(t, err, sqlitestore.ErrDamaged, path)
	require.ErrorContains(t, err, `the checksum of the limits of "b" is wrong; Forget removes only this key`)
	assert.Equal(t, []quota.Ticket{lapsed}, lost)
	clock.advance(time.Hour)
	waits(t, q, slot("a", 1))
	waits(t, q, slot("c", 1))
	took(t, q, slot("d", 1)) // a ticket with a damaged key is not extended in part
}

// A key that was forgotten by the store is not in the file any more.
func TestIdleLimitsAreDeleted(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "quota.db"), newHostClock()
	q := openQuota(t, path, clock)
	for i := range 50 { // they come first, and remain
		took(t, q, perHour("kept "+strconv.Itoa(i), 1))
	}
	for i := range 3000 {
		took(t, q, quota.Request{Demands: []quota.Demand{{
			Key: "user " + strconv.Itoa(i), Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(1, 2)}},
		}}})
		clock.advance(10 * time.Millisecond)
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	var rows int
	require.NoError(t, db.QueryRow(`SELECT count(*) FROM quotas`).Scan(&rows))
	require.NoError(t, db.Close())
	assert.Less(t, rows, 500, "there are 150 that are in use")
	keys := 0
	for key, err := range q.Keys(t.Context(), "user ") {
		require.NoError(t, err)
		assert.Contains(t, key, "user ")
		keys++
	}
	assert.Equal(t, 99, keys)
}

// While the host's clock is behind, what is to wait waits twice as long.
func TestAClockThatWasSetBack(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "quota.db"), newHostClock()
	q := openQuota(t, path, clock)
	before := took(t, q, perHour("a", 1))
	clock.advance(-24 * time.Hour)
	assert.Equal(t, time.Hour, waits(t, q, perHour("a", 1)))
	old := took(t, openQuota(t, path, clock), slot("b", 9))
	assert.Equal(t, before.At, old.At)
	clock.advance(2*time.Hour - 2)
	assert.Equal(t, time.Duration(1), waits(t, q, perHour("a", 1)))
	clock.advance(2)
	assert.Equal(t, before.At+int64(time.Hour), took(t, q, perHour("a", 1)).At)
	clock.advance(48 * time.Hour)
	assert.Equal(t, clock.at.Load(), took(t, q, perHour("a", 1)).At, "it is right again")
}

// The time of the store goes on, at half its speed, also while no call is admitted.
func TestAClockThatWasSetBackWhileAllWait(t *testing.T) {
	clock := newHostClock()
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), clock)
	took(t, q, perHour("a", 1))
	clock.advance(-24 * time.Hour)
	for range 4 {
		waits(t, q, perHour("a", 1))
		clock.advance(30 * time.Minute)
	}
	took(t, q, perHour("a", 1))
}

// A clock that was years ahead leaves nothing behind that lasts for years: what is to wait waits as long as without it,
// and calendars follow the clock again when their present period has ended. What was taken in it also counts in the
// period that it ends in.
func TestAClockThatWasYearsAhead(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "quota.db"), newHostClock() // 20:00
	daily := quota.Request{Demands: []quota.Demand{{Key: "daily", Limits: throttle.Limits{
		Windows: []throttle.Window{throttle.Fixed(1, 24*time.Hour, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))},
	}}}}
	q := openQuota(t, path, clock)
	const years = 3650*24*time.Hour + 5*time.Hour
	clock.advance(years) // 01:00
	took(t, q, perHour("a", 1))
	took(t, q, slot("slot", 1)) // for an hour
	took(t, q, daily)
	require.NoError(t, q.Cooldown(t.Context(), "cold", time.Hour))
	clock.advance(-years)
	other := openQuota(t, path, clock)
	for _, r := range []quota.Request{perHour("a", 1), perHour("cold", 1)} {
		assert.Equal(t, time.Hour, waits(t, other, r))
	}
	assert.Equal(t, 23*time.Hour, waits(t, other, daily))
	clock.advance(time.Hour - 1)
	for _, r := range []quota.Request{perHour("a", 1), perHour("cold", 1), slot("slot", 1)} {
		assert.Equal(t, time.Duration(1), waits(t, other, r))
	}
	clock.advance(1)
	for _, r := range []quota.Request{perHour("a", 1), perHour("cold", 1), slot("slot", 1)} {
		took(t, q, r)
	}
	clock.advance(22 * time.Hour) // 19:00
	for range 3 {
		assert.Equal(t, 5*time.Hour, waits(t, q, daily), "until midnight")
		clock.advance(5 * time.Hour)
		took(t, other, daily)
		assert.Equal(t, 24*time.Hour, waits(t, q, daily))
		clock.advance(19 * time.Hour)
	}
	clock.advance(5 * time.Hour)
	took(t, q, daily)
	clock.advance(-time.Second) // set back a little: the day does not begin twice
	clock.advance(24 * time.Hour)
	assert.Equal(t, time.Second, waits(t, q, daily))
	clock.advance(time.Second)
	took(t, q, daily)
	clock.advance(years)
	assert.Equal(t, clock.at.Load(), took(t, q, perHour("a", 1)).At, "it was right before")
}

// What a lease holds of other keys is free after one of them was forgotten.
func TestWhatALostLeaseHolds(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	both := slot("a", 1)
	both.Demands = append(both.Demands, slot("b", 1).Demands...)
	for _, lose := range []func(quota.Ticket){
		func(held quota.Ticket) {
			lost, err := q.Renew(t.Context(), []quota.Ticket{held}, time.Hour)
			require.NoError(t, err)
			assert.Len(t, lost, 1)
		},
		func(held quota.Ticket) { require.ErrorIs(t, q.End(t.Context(), held, nil), quota.ErrLeaseLost) },
	} {
		held := took(t, q, both)
		require.NoError(t, q.Forget(t.Context(), "a"))
		waits(t, q, slot("b", 1))
		lose(held)
		require.NoError(t, q.Cancel(t.Context(), took(t, q, both)))
	}
}

// Limits and a journal share a file.
func TestLimitsBesideAJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headrace.db")
	j, q := opened(t, path), openQuota(t, path, nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 10 {
				content := fmt.Sprint(i, " ", k)
				_, err := j.Begin(t.Context(), key(content), time.Now(), false)
				assert.NoError(t, err)
				_, err = q.Take(t.Context(), perHour("a", 50))
				assert.NoError(t, err)
				_, err = j.Finish(t.Context(), part, owner, "", done(content, content))
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	at, err := j.Open(t.Context(), part, owner, "v1", time.Now())
	require.NoError(t, err)
	assert.Equal(t, int64(80), at.Done)
	waits(t, q, perHour("a", 50))
}

// A file of the release before has no limits yet.
func TestAnEarlierFileGetsLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	require.NoError(t, sqlitestore.Migrate(path, sqlitestore.Migrations[:1]))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.False(t, bytes.Contains(before, []byte("quotas")))
	took(t, openQuota(t, path, nil), perHour("a", 1))
}

// Keys of Quotas with other files are not announced.
func TestOtherFilesAreNotAnnounced(t *testing.T) {
	q, other := openQuota(t, filepath.Join(t.TempDir(), "a.db"), nil), openQuota(t, filepath.Join(t.TempDir(), "b.db"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed, err := q.Changed(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, other.End(t.Context(), took(t, other, slot("a", 1)), nil))
	assert.Empty(t, changed)
	require.NoError(t, q.End(t.Context(), took(t, q, slot("a", 1)), nil))
	assert.Len(t, changed, 1)
}

// A ticket with windows that count nothing is rejected.
func TestATicketThatNoStoreHasMade(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	forged := quota.Ticket{ID: "x", Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: make([]throttle.Window, 1)}}}}
	require.ErrorContains(t, q.End(t.Context(), forged, nil), "the limits of the ticket's demand 0")
}

// A call that is refused leaves nothing behind of a key that only it has named,
// not even for the next call of the same transaction.
func TestARefusedCallLeavesNoLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, newHostClock())
	took(t, q, perHour("full", 1))
	of := func(burst int64) quota.Request {
		return quota.Request{Demands: []quota.Demand{{
			Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(1, burst)}}, Cost: throttle.Cost{Requests: burst},
		}}}
	}
	refused := of(5)
	refused.Demands = append(refused.Demands, perHour("full", 1).Demands...)
	grants := together(t, q, path, []quota.Request{refused, of(10)})
	assert.Equal(t, time.Hour, grants[0].Wait)
	assert.Zero(t, grants[1].Wait, "the bucket is new, and full")
}

// Three times a third of a second is not quite a second: as many calls are
// admitted together as one by one, and each that need not wait has a ticket.
func TestCallsOfABucketThatDividesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, newHostClock())
	r := quota.Request{Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Bucket(3, 7)}}}}}
	first := r
	first.Demands = slices.Clone(r.Demands)
	first.Demands[0].Cost.Requests = 3
	took(t, q, first)
	took(t, q, r)
	tokens, refused := map[int64]bool{}, 0
	for _, g := range together(t, q, path, slices.Repeat([]quota.Request{r}, 5)) {
		if g.Wait > 0 {
			refused++
		} else {
			assert.Positive(t, g.Ticket.Token)
			tokens[g.Ticket.Token] = true
		}
	}
	assert.Len(t, tokens, 3)
	assert.Equal(t, 2, refused)
}

// What a call used in excess is charged at the instant of End, not at that of
// Take: the bucket was full in between, and the windows had forgotten the call.
func TestExcessIsChargedAtTheEnd(t *testing.T) {
	for _, test := range []struct {
		name   string
		window throttle.Window
		wait   time.Duration
	}{
		{"bucket", throttle.Bucket(1, 10), 3 * time.Second},
		{"sliding", throttle.Sliding(10, 10*time.Second), 10 * time.Second},
		{"fixed", throttle.Fixed(10, 10*time.Second, newHostClock().now()), 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, clock := filepath.Join(t.TempDir(), "quota.db"), newHostClock()
			q, other := openQuota(t, path, clock), openQuota(t, path, clock)
			of := func(n int64) quota.Request {
				return quota.Request{Demands: []quota.Demand{{
					Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{test.window}}, Cost: throttle.Cost{Requests: n},
				}}}
			}
			held := took(t, q, of(2))
			clock.advance(20 * time.Second)
			require.NoError(t, other.End(t.Context(), held, []throttle.Cost{{Requests: 5}}))
			took(t, q, of(7))
			assert.Equal(t, test.wait, waits(t, q, of(3)))
			clock.advance(test.wait - 1)
			assert.Equal(t, time.Duration(1), waits(t, other, of(3)))
			clock.advance(1)
			took(t, other, of(3))
		})
	}
}

// A zone that has no name which other processes know could not be read again.
func TestATimeZoneWithoutAName(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	// Version 1 of the format: one change of the clocks, from one zone to another.
	text := append([]byte("TZif"), make([]byte, 40)...)
	text[35], text[39], text[43] = 1, 2, 4
	text = append(text, 0x60, 0, 0, 0, 1)                                            // when it was, and to what
	text = append(text, 0, 0, 0, 0, 0, 0, 0, 0, 14, 16, 0, 0)                        // the two: seconds, summer, name
	zone, err := time.LoadLocationFromTZData("Atlantis", append(text, "ATL\x00"...)) // the names
	require.NoError(t, err)
	daily := throttle.Fixed(5, 24*time.Hour, time.Date(2026, time.March, 1, 0, 0, 0, 0, zone))
	r := quota.Request{Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{daily}}}}}
	for range 2 {
		_, err = q.Take(t.Context(), r)
		require.ErrorAs(t, err, new(*fault.FieldError))
		require.ErrorContains(t, err, `sqlitestore: the limits of "a": the anchor of a calendar window: unknown time zone Atlantis`)
	}
	took(t, q, perHour("a", 1))
}

// time.Local is a different zone in a process with another TZ, which would count other periods.
func TestTheLocalTimeZone(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	// As above: a zone with daylight saving time.
	text := append([]byte("TZif"), make([]byte, 40)...)
	text[35], text[39], text[43] = 1, 2, 4
	text = append(text, 0x60, 0, 0, 0, 1)
	text = append(text, 0, 0, 0, 0, 0, 0, 0, 0, 14, 16, 0, 0)
	zone, err := time.LoadLocationFromTZData("Local", append(text, "ATL\x00"...)) // the name of time.Local
	require.NoError(t, err)
	daily := throttle.Fixed(5, 24*time.Hour, time.Date(2026, time.March, 1, 0, 0, 0, 0, zone))
	r := quota.Request{Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{daily}}}}}
	_, err = q.Take(t.Context(), r)
	require.ErrorAs(t, err, new(*fault.FieldError))
	require.ErrorContains(t, err, `sqlitestore: the limits of "a": the anchor of a calendar window: time.Local`)
	require.ErrorContains(t, err, `time.LoadLocation`)
}

// A lost lease is no problem of the file.
func TestTheErrorOfALostLease(t *testing.T) {
	q := openQuota(t, filepath.Join(t.TempDir(), "quota.db"), nil)
	held := took(t, q, slot("a", 1))
	require.NoError(t, q.Cancel(t.Context(), held))
	require.EqualError(t, q.End(t.Context(), held, nil), "quota: lease lost: ticket "+held.ID)
}

// A slot that is given back in a transaction is free for calls that were queued before.
func TestEndsAreAppliedFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	q := openQuota(t, path, nil)
	held := took(t, q, slot("a", 1))
	release := lock(t, path)
	var all sync.WaitGroup
	all.Go(func() {
		g, err := q.Take(t.Context(), slot("a", 1))
		assert.NoError(t, err)
		assert.Zero(t, g.Wait)
	})
	for q.Waiting() < 1 {
		runtime.Gosched()
	}
	all.Go(func() { assert.NoError(t, q.End(t.Context(), held, nil)) })
	for q.Waiting() < 2 {
		runtime.Gosched()
	}
	release()
	all.Wait()
}
