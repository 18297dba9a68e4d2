package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
)

// fill finishes n items with values of 2 KB.
func fill(t *testing.T, j journal.Journal, n int) {
	t.Helper()
	records := make([]journal.Record, n)
	for i := range records {
		records[i] = done(strconv.Itoa(i), strings.Repeat("x", 2048))
		_, err := j.Begin(t.Context(), records[i].Key, time.Now(), false)
		require.NoError(t, err)
	}
	refused, err := j.Finish(t.Context(), part, owner, "", records...)
	require.NoError(t, err)
	require.Empty(t, refused)
}

func TestForgettingGivesRoomBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	fill(t, j, 2300)
	require.NoError(t, j.Release(t.Context(), part, owner))
	require.NoError(t, j.Forget(t.Context(), part.Run))
	require.NoError(t, j.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(100_000), "of about 5 MB")
	verify(t, path, nil)
}

// What a Forget leaves when it is cut short is not seen, and the next one deletes it.
func TestForgettingIsTakenUpAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	fill(t, j, 1200)
	require.NoError(t, j.Release(t.Context(), part, owner))
	ctx, cancel := context.WithCancel(t.Context())
	release := lock(t, path)
	ended := make(chan error)
	go func() { ended <- j.Forget(ctx, part.Run) }()
	release()
	cancel()
	if err := <-ended; err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, j.ExecInWriter(t.Context(), "UPDATE parts SET run = NULL, node = NULL")) // as Forget begins
	for run, err := range j.Runs(t.Context()) {
		t.Error(run, err)
	}
	_, err := j.Open(t.Context(), part, owner, "v2", time.Now())
	require.NoError(t, err)
	begin(t, j, "1")
	require.NoError(t, j.Forget(t.Context(), "another"))
	at, err := j.Open(t.Context(), part, owner, "v2", time.Now())
	require.NoError(t, err)
	assert.Equal(t, journal.Progress{Pending: 1, RenewWithin: 30 * time.Second}, at)
	require.NoError(t, j.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(100_000))
	verify(t, path, nil)
}

// What was begun before the part was forgotten does not come back with it.
func TestABeginningOfAPartThatIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, other := opened(t, path), opened(t, path)
	_, err := j.Open(t.Context(), part, owner, "v1", time.Now().Add(-time.Hour)) // its claim has lapsed
	require.NoError(t, err)
	release := lock(t, path) // so that it is not written yet
	begin(t, j, "a")
	forgotten := make(chan error)
	go func() { forgotten <- other.Forget(t.Context(), part.Run) }()
	release()
	require.NoError(t, <-forgotten)
	_, err = j.Finish(t.Context(), part, owner, "", done("a", "a"))
	require.ErrorIs(t, err, journal.ErrNotOpen)
	at, err := j.Open(t.Context(), part, owner, "v2", time.Now())
	require.NoError(t, err)
	assert.Equal(t, journal.Progress{RenewWithin: 30 * time.Second}, at)
}
