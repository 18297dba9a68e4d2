package download

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childURL and childTarget tell the test binary to fetch and to do nothing else.
const (
	childURL    = "HEADRACE_DOWNLOAD_URL"
	childTarget = "HEADRACE_DOWNLOAD_TARGET"
)

const killStep = 64 << 10 // how often the child makes things last

func child() int {
	report := withProgress(func(p Progress) {
		if p.Bytes > p.Resumed { // not while what is there is read again
			fmt.Println(p.Bytes)
		}
	}, 1)
	_, err := fetchWith(context.Background(), http.DefaultClient, os.Getenv(childURL), os.Getenv(childTarget), withSyncSize(killStep), report)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killer serves body, and in each answer at most as many bytes as allow says. Then it waits until its client is gone.
type killer struct {
	body  []byte
	mu    sync.Mutex // guards sent, allow
	sent  int
	allow int
}

type killing struct {
	http.ResponseWriter
	k *killer
	r *http.Request
}

func (w killing) Write(b []byte) (int, error) {
	w.k.mu.Lock()
	n := min(len(b), w.k.allow-w.k.sent)
	w.k.sent += n
	w.k.mu.Unlock()
	if _, err := w.ResponseWriter.Write(b[:n]); err != nil || n == len(b) {
		return n, err
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush() // the client is to be killed
	<-w.r.Context().Done()
	return n, w.r.Context().Err()
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"one"`)
	http.ServeContent(killing{w, k, r}, r, "", time.Time{}, bytes.NewReader(k.body))
}

func (k *killer) start(allow int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent, k.allow = 0, allow
}

// killAfter kills the child when it has got more bytes of the file than it began with, and returns where it began.
func killAfter(t *testing.T, cmd *exec.Cmd, more int64) int64 {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	first, lines := int64(-1), bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		require.NoError(t, err)
		if first < 0 {
			first = n
		}
		if n >= first+more {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	assert.Error(t, cmd.Wait())
	return first
}

// A process that is killed at any byte leaves the old target, and all but what it got since it last synced.
func TestAKilledProcessIsResumed(t *testing.T) {
	k := &killer{body: content(1, 4<<20)}
	server := httptest.NewServer(k)
	defer server.Close()
	target := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))

	command := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childURL+"="+server.URL, childTarget+"="+target)
		cmd.Stderr = os.Stderr
		return cmd
	}
	const kills = 5
	before := int64(0)
	for i := range kills {
		k.start(12 * killStep) // more than it is killed after, and in all less than the file
		first := killAfter(t, command(), int64(4*killStep+rand.IntN(4*killStep)))
		assert.GreaterOrEqual(t, first, before, "kill %d lost what was synced", i)
		before = first + 2*killStep
		old, err := os.ReadFile(target)
		require.NoError(t, err)
		require.Equal(t, "old", string(old))
	}
	k.start(len(k.body))
	require.NoError(t, command().Run())
	got, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, checksumOf(k.body), checksumOf(got))
	assert.LessOrEqual(t, k.sent, len(k.body)-kills*2*killStep, "the last call fetched again what was there")
	left, err := os.ReadDir(filepath.Dir(target))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing is left beside the target")
}
