package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

var somePart = journal.Part{Run: "run", Node: "node"}

func keyOf(i int) journal.Key { return journal.Key{Part: somePart, Content: fmt.Sprint("item ", i)} }

func openAt(t *testing.T, path string) *sqlitestore.Journal {
	t.Helper()
	j, err := sqlitestore.OpenJournal(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// claim opens the part, and returns how many records it has.
func claim(t *testing.T, j *sqlitestore.Journal, owner journal.Owner, at time.Time) int64 {
	t.Helper()
	p, err := j.Open(t.Context(), somePart, owner, "", at)
	require.NoError(t, err)
	return p.Pending + p.Done + p.Failed
}

// doItem begins and finishes an item.
func doItem(t *testing.T, j *sqlitestore.Journal, owner journal.Owner, k journal.Key, at time.Time) {
	t.Helper()
	was, err := j.Begin(t.Context(), k, at, false)
	require.NoError(t, err)
	require.Equal(t, journal.Unknown, was.State)
	refused, err := j.Finish(t.Context(), somePart, owner, "",
		journal.Record{Key: k, State: journal.Done, Value: []byte("1"), Attempts: 1, Ended: at})
	require.NoError(t, err)
	require.Empty(t, refused)
}

// A part with records is always asked for them, and one without is not asked for an item the first time.
func TestWhichItemsAreNew(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "journal.db"), time.Now()
	j, owner := openAt(t, path), journal.NewOwner()
	assert.False(t, j.IsNew(keyOf(0), now), "the part is not open")
	require.Zero(t, claim(t, j, owner, now))
	assert.False(t, j.IsNew(keyOf(0), now), "it was begun above")
	assert.True(t, j.IsNew(keyOf(1), now))
	assert.False(t, j.IsNew(keyOf(1), now))
	assert.True(t, j.IsNew(keyOf(2), now.Add(sqlitestore.LeaseTime/2-1)))
	assert.False(t, j.IsNew(keyOf(3), now.Add(sqlitestore.LeaseTime/2)))
	assert.False(t, j.IsNew(keyOf(4), now.Add(-1)))
	assert.False(t, j.IsNew(journal.Key{Part: journal.Part{Run: "run", Node: "other"}, Content: "a"}, now))

	later := now.Add(sqlitestore.LeaseTime - time.Second)
	require.NoError(t, j.Renew(t.Context(), somePart, owner, later))
	assert.True(t, j.IsNew(keyOf(5), later))
	doItem(t, j, owner, keyOf(6), later)
	require.NoError(t, j.Close())

	j = openAt(t, path)
	require.EqualValues(t, 1, claim(t, j, owner, later))
	assert.False(t, j.IsNew(keyOf(7), later))
}

// What another process has done is found, as soon as it may have claimed the part.
func TestItemsOfTheNextOwnerAreFound(t *testing.T) {
	now := time.Now()
	for name, leave := range map[string]func(t *testing.T, j *sqlitestore.Journal, owner journal.Owner) (next time.Time){
		"released": func(t *testing.T, j *sqlitestore.Journal, owner journal.Owner) time.Time {
			t.Helper()
			require.NoError(t, j.Release(t.Context(), somePart, owner))
			return now
		},
		"lapsed": func(*testing.T, *sqlitestore.Journal, journal.Owner) time.Time {
			return now.Add(sqlitestore.LeaseTime + time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			j, owner := openAt(t, path), journal.NewOwner()
			require.Zero(t, claim(t, j, owner, now))
			at := leave(t, j, owner)

			other, next := openAt(t, path), journal.NewOwner()
			require.Zero(t, claim(t, other, next, at))
			doItem(t, other, next, keyOf(1), at)

			was, err := j.Begin(t.Context(), keyOf(1), at, false)
			require.NoError(t, err)
			assert.Equal(t, journal.Done, was.State)
		})
	}
}

// A run that is forgotten has no part any more, and what others commit is noticed.
func TestForgottenAndChanged(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "journal.db"), time.Now()
	j, owner := openAt(t, path), journal.NewOwner()
	require.Zero(t, claim(t, j, owner, now))
	other := openAt(t, path)
	doItem(t, other, owner, keyOf(1), now) // it has no claim of its own
	doItem(t, j, owner, keyOf(2), now)     // a transaction
	was, err := j.Begin(t.Context(), keyOf(1), now, false)
	require.NoError(t, err)
	assert.Equal(t, journal.Done, was.State)

	require.NoError(t, j.Release(t.Context(), somePart, owner))
	require.NoError(t, j.Forget(t.Context(), somePart.Run))
	_, err = j.Begin(t.Context(), keyOf(3), now, false)
	require.ErrorIs(t, err, journal.ErrNotOpen)
}

// However many goroutines begin an item, while others are committed, it is new to one of them and done once.
func TestAnItemIsNewToOneGoroutine(t *testing.T) {
	for _, asks := range []bool{false, true} {
		t.Run(fmt.Sprint("asks=", asks), func(t *testing.T) {
			const items, goroutines = 300, 8
			now, owner := time.Now(), journal.NewOwner()
			j := openAt(t, filepath.Join(t.TempDir(), "journal.db"))
			if asks {
				j.AlwaysAsk()
			}
			require.Zero(t, claim(t, j, owner, now))
			var isNew, finished [items]atomic.Int32
			var wg sync.WaitGroup
			for g := range goroutines {
				random := rand.New(rand.NewPCG(uint64(g), 1))
				wg.Go(func() {
					for i := range items {
						if random.IntN(3) == 0 {
							i = max(0, i-random.IntN(20))
						}
						was, err := j.Begin(t.Context(), keyOf(i), now, false)
						if !assert.NoError(t, err) {
							return
						}
						if was.State == journal.Done {
							continue
						}
						if was.State == journal.Unknown {
							isNew[i].Add(1)
						}
						refused, err := j.Finish(t.Context(), somePart, owner, "",
							journal.Record{Key: keyOf(i), State: journal.Done, Value: []byte("1"), Attempts: 1, Ended: now})
						if assert.NoError(t, err) && len(refused) == 0 {
							finished[i].Add(1)
						}
					}
				})
			}
			wg.Wait()
			n := int64(0)
			for i := range items {
				require.LessOrEqual(t, isNew[i].Load(), int32(1), "item %d", i)
				require.Equal(t, isNew[i].Load(), finished[i].Load(), "item %d", i)
				n += int64(isNew[i].Load())
			}
			require.NoError(t, j.Release(t.Context(), somePart, owner))
			require.Equal(t, n, claim(t, j, owner, now))
		})
	}
}
