package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

var (
	killsFlag = flag.Int("kills", 6, "how often the process is killed; a fifth of them, but three at least, at a failpoint")
	killTexts = flag.Int("texts", 240, "how many texts it works on")
	killSeed  = flag.Uint64("seed", 7, "what the kills are drawn from")
)

// A kill is when and how one life of the process ends.
type kill struct {
	point int    // when the ledger has so many texts; at a failpoint, so many answers or records
	how   string // "arrival" or "reply" of a call; or one of the failpoints
}

// failpoints are where the process hangs until it is killed: with an answer, before a commit, or after
// it and before the lines are written.
var failpoints = []string{"answer", "commit", "line"}

func (k kill) failpoint() bool { return slices.Contains(failpoints, k.how) }

// draw returns n kills at points drawn evenly from 5 to 95 % of the texts.
func draw(r *rand.Rand, n, texts int) []kill {
	kills := make([]kill, n)
	for i := range kills {
		kills[i] = kill{point: texts/20 + r.IntN(texts*9/10+1), how: []string{"arrival", "reply"}[r.IntN(2)]}
	}
	for i := range min(n, max(len(failpoints), n/5)) {
		kills[i].how = failpoints[i%len(failpoints)]
	}
	slices.SortFunc(kills, func(a, b kill) int { return cmp.Compare(a.point, b.point) })
	return kills
}

// executioner kills the present life of the process when the ledger has come so far.
type executioner struct {
	provider *providertest.Server

	mu       sync.Mutex      // guards everything below
	texts    map[string]bool // that have arrived
	process  *os.Process     // nil: there is no kill to come, or it was done
	next     kill
	inFlight int // at the kill
	reached  int // texts, at the kill
}

func (e *executioner) fault(r providertest.Request) *providertest.Fault {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, id, _ := strings.Cut(r.Key, "/")
	e.texts[id] = true
	e.killLocked("arrival")
	return nil
}

// reply has a value of its own for each text.
func (e *executioner) reply(r providertest.Request) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.killLocked("reply")
	_, id, _ := strings.Cut(r.Key, "/")
	return "about " + id
}

func (e *executioner) killLocked(at string) {
	if e.process == nil || at != e.next.how || len(e.texts) < e.next.point || e.provider.Counts().InFlight == 0 {
		return
	}
	e.doneLocked()
}

func (e *executioner) doneLocked() {
	e.inFlight, e.reached = e.provider.Counts().InFlight, len(e.texts)
	_ = e.process.Kill()
	e.process = nil
}

// live runs the process until k, nil is never, and returns what it hung with.
// recorded is how many texts have a record.
func (e *executioner) live(t *testing.T, life int, k *kill, recorded int, args []string) (hung []string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)

	e.mu.Lock()
	at := "never"
	if k != nil && k.failpoint() {
		at = fmt.Sprintln(k.how, max(1, k.point-recorded))
	}
	cmd.Env = append(os.Environ(), childEnv+"="+at, fmt.Sprintf("API_KEY=%d", life))
	err = cmd.Start()
	if k != nil {
		e.next, e.process = *k, cmd.Process
	}
	e.mu.Unlock()
	require.NoError(t, err)

	for lines := bufio.NewScanner(out); lines.Scan(); {
		if ids, ok := strings.CutPrefix(lines.Text(), hanging); ok {
			hung = strings.Fields(ids)
			e.mu.Lock()
			e.doneLocked()
			e.mu.Unlock()
		}
	}
	err = cmd.Wait()
	if k == nil {
		require.NoError(t, err)
		return nil
	}
	require.Error(t, err, "life %d was over before the kill", life)
	if runtime.GOOS != "windows" {
		require.EqualError(t, err, "signal: killed")
	}
	return hung
}

// A process that is killed again and again ends with every text committed once.
// Only calls that had no durable record at a kill were made again. The seed is
// fixed; go test -run TestKill -kills 25 -texts 2000 is the long version.
func TestKilledAgainAndAgain(t *testing.T) {
	kills := draw(rand.New(rand.NewPCG(*killSeed, 0)), *killsFlag, *killTexts)
	args := inFolder(t, *killTexts, "-run", "killed", "-parallel", "16")
	s, err := parse(args, nil)
	require.NoError(t, err)

	e := &executioner{texts: map[string]bool{}}
	e.provider, err = providertest.New(providertest.Config{
		Latency: providertest.Uniform{Min: 5 * time.Millisecond, Max: 25 * time.Millisecond}, Seed: *killSeed,
		Fault: e.fault, Reply: e.reply,
		KeyOf: func(r providertest.Request) string { // "life/text"
			return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + "/" + r.Key
		},
	})
	require.NoError(t, err)
	defer e.provider.Close()
	args = append(args, "-url", e.provider.URL())

	a := newAudit(s)
	lives, inFlight, atFailpoint, recorded := 0, 0, 0, 0
	for life, k := range kills {
		if recorded == *killTexts { // there is nothing left to be killed in
			break
		}
		lives++
		hung := e.live(t, life, &k, recorded, args)
		recorded = a.afterKill(t, k, hung)
		if e.inFlight > 0 && !k.failpoint() {
			inFlight++
		}
		if k.failpoint() {
			assert.NotEmpty(t, hung)
			atFailpoint++
		}
		t.Logf("kill %2d drawn for %4d of %d texts, at the %-8s ledger %4d, %2d calls in flight, %2d texts hung, %4d recorded",
			life+1, k.point, *killTexts, k.how+":", e.reached, e.inFlight, len(hung), recorded)
	}
	require.GreaterOrEqual(t, lives, min(len(kills), 4))
	e.live(t, len(kills), nil, recorded, args)
	e.provider.Close() // what still comes is no arrival

	assert.Equal(t, lives-atFailpoint, inFlight)
	found := a.judge(t, e.provider.Ledger(), *killTexts)
	t.Logf("seed %d: %d kills, %d of them with calls in flight, %d at a failpoint; %d texts, %d calls, %d made again; "+
		"%d calls without a record at the kills, %d of them served",
		*killSeed, lives, inFlight, atFailpoint, *killTexts, found.calls, found.again, found.unrecorded, found.served)
	t.Logf("scorecard: row=5 kills=%d items=%d lost=%d duplicates=%d resent=%d beyond_in_flight=%d",
		lives, *killTexts, *killTexts-found.committed, found.twice, found.again, max(0, found.again-found.unrecorded))
}

// copied returns a copy of the journal as the kill has left it, the log
// included: to open the file itself would repair it for the next life.
func copied(t *testing.T, journal string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "journal.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(journal + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to+suffix, content, 0o600))
	}
	return to
}
