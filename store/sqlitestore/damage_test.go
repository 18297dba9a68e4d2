package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// make verify flips 3,000 bits.
var flips = flag.Int("flips", 150, "how many files TestAFlippedBitIsNeverAValue damages")

// sound is a journal of items with different results.
func sound(t *testing.T, items int) (file []byte, want map[journal.Key]journal.Record) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := opened(t, path)
	want = map[journal.Key]journal.Record{}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for i := range items {
		r := done(fmt.Sprintf("item %d", i), fmt.Sprintf(`{"answer":"this is the answer to item %d"}`, i))
		if r.Ended = at; i%5 == 4 {
			r.State, r.Err, r.Value = journal.Failed, fmt.Sprintf("failed because of %d", i), nil
		}
		_, err := j.Begin(t.Context(), r.Key, at, false)
		require.NoError(t, err)
		_, err = j.Finish(t.Context(), part, owner, "mark", r)
		require.NoError(t, err)
		r.Begun, r.Behind = at, i == items-1
		want[r.Key] = r
	}
	require.NoError(t, j.SaveLaw(t.Context(), "limiter", journal.Law{State: []byte(`{"rate":12.5}`), At: at}))
	require.NoError(t, j.Release(t.Context(), part, owner))
	require.NoError(t, j.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	return file, want
}

// readAll compares what a journal says with what was written. It returns an
// error if the journal does, and fails the test for a wrong answer.
func readAll(t *testing.T, path string, want map[journal.Key]journal.Record) error {
	t.Helper()
	j, err := sqlitestore.OpenJournal(path)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	var errs []error
	for run, err := range j.Runs(t.Context()) {
		if errs = append(errs, err); err == nil {
			assert.Equal(t, [2]int64{int64(len(want)), 0}, [2]int64{run.Total(), run.Pending})
		}
	}
	law, err := j.LoadLaw(t.Context(), "limiter")
	if errs = append(errs, err); len(law.State) > 0 {
		assert.JSONEq(t, `{"rate":12.5}`, string(law.State))
	}
	for r, err := range j.All(t.Context(), part) {
		if errs = append(errs, err); err == nil {
			assert.Equal(t, want[r.Key], plain(r), "All")
		}
	}
	ctx := context.WithoutCancel(t.Context())
	at, err := j.Open(ctx, part, owner, "v1", time.Now())
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if at.Pending+at.Done+at.Failed > 0 {
		assert.Equal(t, journal.Progress{Done: 40, Failed: 10, Mark: "mark", Behind: 1, RenewWithin: 30 * time.Second}, at)
	}
	for k, w := range want {
		r, err := j.Begin(ctx, k, time.Now(), false)
		if errs = append(errs, err); err == nil && r.State != journal.Unknown { // one that cannot be found is called again
			assert.Equal(t, w, plain(r), "Begin")
		}
	}
	return errors.Join(errs...)
}

// plain has nil for what is empty.
func plain(r journal.Record) journal.Record {
	if len(r.Value) == 0 {
		r.Value = nil
	}
	return r
}

func TestAFlippedBitIsNeverAValue(t *testing.T) {
	text, want := sound(t, 50)
	random := rand.New(rand.NewPCG(3, 1))
	dir := t.TempDir()
	found := 0
	for i := range *flips {
		path := filepath.Join(dir, fmt.Sprintf("%d.db", i))
		damaged := append([]byte(nil), text...)
		at, bit := random.IntN(len(text)), random.IntN(8)
		damaged[at] ^= 1 << bit
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if err := readAll(t, path, want); err != nil {
			found++
			assert.True(t, errors.As(err, new(*sqlitestore.FileError)) || errors.As(err, new(*sqlitestore.NewerError)) ||
				errors.As(err, new(*journal.VersionError)), "%v", err)
		}
		if t.Failed() {
			t.Fatalf("bit %d of byte %d", bit, at)
		}
	}
	assert.Positive(t, found)
}

// A part that cannot be found under its name any more would be paid for again.
func TestAFlippedBitInTheNameOfAPart(t *testing.T) {
	text, _ := sound(t, 5)
	name := []byte(part.Run + part.Node) // in the row, and in the index
	found := 0
	for at := bytes.Index(text, name); at >= 0; found++ {
		path := filepath.Join(t.TempDir(), "journal.db")
		damaged := append([]byte(nil), text...)
		damaged[at] ^= 1
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := sqlitestore.OpenJournal(path)
		wantReason(t, err, sqlitestore.ErrDamaged, path)
		next := bytes.Index(text[at+1:], name)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	assert.Positive(t, found)
}

func TestAFileThatWasCutIsDamaged(t *testing.T) {
	text, want := sound(t, 50)
	dir := t.TempDir()
	for i, n := range []int{1, 50, 99, 100, 512, 4095, 4096, len(text) / 2, len(text) - 4096, len(text) - 1} {
		path := filepath.Join(dir, fmt.Sprintf("%d.db", i))
		require.NoError(t, os.WriteFile(path, text[:n], 0o600))
		require.Error(t, readAll(t, path, want), "%d of %d bytes", n, len(text))
	}
}

// What is changed on purpose is found wherever it is.
func TestARowWithAnotherChecksum(t *testing.T) {
	text, want := sound(t, 50)
	for name, statement := range map[string]string{
		"a value":         "UPDATE records SET value = CAST(replace(value, '7', '8') AS BLOB) WHERE content = 'item 7'",
		"a failure":       "UPDATE records SET error = CAST('because' AS BLOB) WHERE content = 'item 7'",
		"a state":         "UPDATE records SET state = 3 WHERE content = 'item 7'",
		"attempts":        "UPDATE records SET attempts = 0 WHERE content = 'item 7'",
		"the call":        "UPDATE records SET call = 0 WHERE content = 'item 7'",
		"the content":     "UPDATE records SET content = 'item 700' WHERE content = 'item 7'; UPDATE records SET content = 'item 7' WHERE content = 'item 8'",
		"the part":        "UPDATE parts SET mark = CAST('another' AS BLOB)",
		"the version":     "UPDATE parts SET version = CAST('v2' AS BLOB)",
		"how many":        "UPDATE parts SET behind = 0",
		"when":            "UPDATE parts SET changed = 0",
		"what is learned": "UPDATE laws SET state = CAST('{\"rate\":99}' AS BLOB)",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			require.NoError(t, os.WriteFile(path, text, 0o600))
			j, err := sqlitestore.OpenJournal(path)
			require.NoError(t, err)
			require.NoError(t, j.ExecInWriter(t.Context(), statement))
			require.NoError(t, j.Close())
			require.ErrorIs(t, readAll(t, path, want), sqlitestore.ErrDamaged)
		})
	}
}

// The row of a part is checked before its records and its lease are used.
func TestAPartWithAnotherChecksumIsNotUsed(t *testing.T) {
	text, _ := sound(t, 5)
	changed := func(statement string) *sqlitestore.Journal {
		path := filepath.Join(t.TempDir(), "journal.db")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		j := opened(t, path)
		require.NoError(t, j.ExecInWriter(t.Context(), statement))
		return j
	}
	for statement, run := range map[string]string{
		"UPDATE parts SET node = 'another'": part.Run, "UPDATE parts SET run = 'another'": "another", "UPDATE parts SET marked = 0": part.Run,
	} {
		j := changed(statement)
		for r, err := range j.All(t.Context(), journal.Part{Run: run}) {
			require.ErrorIs(t, err, sqlitestore.ErrDamaged, "%s: %v", statement, r)
		}
	}
	for _, statement := range []string{
		"UPDATE parts SET owner = CAST('another' AS BLOB), renewed = 1 << 52", "UPDATE parts SET owner = CAST('another' AS BLOB)",
	} {
		require.ErrorIs(t, changed(statement).Forget(t.Context(), part.Run), sqlitestore.ErrDamaged, statement)
	}
}
