package sqlitestore_test

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

const (
	childEnv  = "HEADRACE_SQLITE_CHILD" // what the process does: "name items shared"
	childFile = "HEADRACE_SQLITE_FILE"
)

// child runs this test binary as another process that works on the journal at path.
func child(t *testing.T, path, name string, items, shared int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", childEnv, name, items, shared), childFile+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// beChild finishes items of its own, and those it shares with all others, in
// several goroutines, and prints each one that was kept.
func beChild(what string) (status int) {
	var name string
	var items, shared int
	if _, err := fmt.Sscanf(what, "%s %d %d", &name, &items, &shared); err != nil {
		panic(err)
	}
	ctx := context.Background()
	j, err := sqlitestore.OpenJournal(os.Getenv(childFile), sqlitestore.WithBusyTimeout(time.Minute))
	if err == nil {
		_, err = j.Open(ctx, part, owner, "v1", time.Now())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		return 1
	}
	var failed atomic.Bool
	var next atomic.Int64
	var out sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < items+shared && !failed.Load(); i = int(next.Add(1)) - 1 {
				content := name + "/" + strconv.Itoa(i)
				if i >= items {
					content = "shared/" + strconv.Itoa(i-items)
				}
				_, err := j.Begin(ctx, key(content), time.Now(), false)
				var refused []journal.Record
				if err == nil {
					refused, err = j.Finish(ctx, part, owner, name, done(content, content))
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, name, err)
					failed.Store(true)
				} else if len(refused) == 0 {
					out.Lock()
					fmt.Println(content)
					out.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil || failed.Load() {
		fmt.Fprintln(os.Stderr, name, "close", err)
		return 1
	}
	return 0
}

// verify looks at the file with nothing of ours: it is sound, the counts are
// right, and each of the contents is Done.
func verify(t *testing.T, path string, contents []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	text := func(query string, args ...any) (s string) {
		require.NoError(t, db.QueryRow(query, args...).Scan(&s), query)
		return s
	}
	assert.Equal(t, "ok", text("PRAGMA integrity_check"))
	assert.Equal(t, "0", text(`SELECT count(*) FROM pragma_foreign_key_check`))
	assert.Equal(t, "0", text(`SELECT count(*) FROM parts WHERE pending <> (SELECT count(*) FROM records WHERE part = parts.id AND state = 1)
		OR done <> (SELECT count(*) FROM records WHERE part = parts.id AND state = 2)
		OR failed <> (SELECT count(*) FROM records WHERE part = parts.id AND state = 3)
		OR bytes <> (SELECT coalesce(sum(length(value)), 0) FROM records WHERE part = parts.id AND state = 2)`), "the sums of a part are wrong")
	for _, content := range contents {
		assert.Equal(t, content, text(`SELECT coalesce(max(value), 'nothing') FROM records WHERE content = ? AND state = 2`, content))
	}
}

// make test runs it with 350 items too, without the race detector: that is slow with eight processes.
var items = flag.Int("items", 30, "how many items of its own each process has in TestManyProcessesShareAFile")

func TestManyProcessesShareAFile(t *testing.T) {
	const processes, shared = 8, 20
	items := *items
	path := filepath.Join(t.TempDir(), "journal.db")
	var mu sync.Mutex
	var kept []string
	var wg sync.WaitGroup
	for p := range processes {
		cmd := child(t, path, strconv.Itoa(p), items, shared)
		wg.Go(func() {
			out, err := cmd.Output()
			assert.NoError(t, err)
			mu.Lock()
			kept = append(kept, strings.Fields(string(out))...)
			mu.Unlock()
		})
	}
	wg.Wait()
	assert.Len(t, kept, processes*items+shared, "each item is kept by one process")
	verify(t, path, kept)
	j := opened(t, path)
	at, err := j.Open(t.Context(), part, owner, "v1", time.Now())
	require.NoError(t, err)
	assert.Equal(t, int64(processes*items+shared), at.Done)
	assert.Zero(t, at.Pending)
	t.Logf("scorecard: row=8 processes=%d items=%d lost=%d", processes, len(kept), processes*items+shared-int(at.Done))
}

func TestWhatWasFinishedOutlivesAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	random := rand.New(rand.NewPCG(1, 2))
	var kept []string
	for kill := range 10 {
		cmd := child(t, path, "kill"+strconv.Itoa(kill), 1<<30, 0)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		at := 10 + random.IntN(100)
		for n := 0; lines.Scan(); n++ {
			kept = append(kept, lines.Text())
			if n == at {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
		verify(t, path, nil)
	}
	assert.Greater(t, len(kept), 100)
	verify(t, path, kept)
	t.Logf("scorecard: row=8 kills=10 items=%d", len(kept))
}
