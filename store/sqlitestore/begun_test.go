package sqlitestore_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A beginning is written when its item takes long, or the journal is closed, and never for an item that is finished before.
func TestWhatIsBegunIsWrittenLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	synctest.Test(t, func(t *testing.T) {
		j, owner := openAt(t, path), owner
		require.Zero(t, claim(t, j, owner, time.Now()))
		records := func() (n int) {
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			require.NoError(t, db.QueryRow(`SELECT count(*) FROM records`).Scan(&n))
			return n
		}
		begin := func(i int) {
			_, err := j.Begin(t.Context(), keyOf(i), time.Now(), false)
			require.NoError(t, err)
		}
		begin(1)
		doItem(t, j, owner, keyOf(2), time.Now())
		assert.Equal(t, 1, records(), "the commit of the second item leaves out the first")
		time.Sleep(5 * time.Second)
		begin(3)
		time.Sleep(6 * time.Second)
		doItem(t, j, owner, keyOf(4), time.Now())
		assert.Equal(t, 3, records(), "the first is due")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		assert.Equal(t, 4, records(), "without a commit too")
		begin(5)
		require.NoError(t, j.Close())
		assert.Equal(t, 5, records())
		j = openAt(t, path)
		assert.EqualValues(t, 5, claim(t, j, owner, time.Now()))
		begin(6)
		require.NoError(t, j.Release(t.Context(), somePart, owner))
		assert.Equal(t, 6, records(), "the next owner finds all of it")
		require.NoError(t, j.Close())
	})
}
