package main

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

var roundsFlag = flag.Int("rounds", 2, "how often the program is started twice at once")

// program is the program, with what it says.
type program struct {
	*exec.Cmd
	said bytes.Buffer
}

func start(t *testing.T, args []string) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &program{Cmd: exec.CommandContext(context.WithoutCancel(t.Context()), self, args...)}
	p.Env = append(os.Environ(), childEnv+"=never")
	p.Stdout, p.Stderr = &p.said, &p.said
	require.NoError(t, p.Start())
	return p
}

// The program is started two, three or five times at once on the same files, and once more while one of them is at
// work. One does the work, and the others say which process does. In every other round those that run are killed on
// the way, and one more goes on. go test -run TestStartedTwice -rounds 10 -texts 3000 is the long version.
func TestStartedTwiceAtOnce(t *testing.T) {
	kills, missing, repeated, broken := 0, 0, 0, 0
	for round := range *roundsFlag {
		r := newRace(t, round)
		all := []*program{}
		for range []int{2, 3, 5}[round%3] {
			all = append(all, start(t, r.args))
		}
		<-r.begun
		all = append(all, start(t, r.args))
		if round%2 == 1 {
			for r.provider.Counts().Served < *killTexts/3 {
				runtime.Gosched()
			}
			for _, p := range all {
				_ = p.Process.Kill()
			}
		}
		failed, killed := 0, 0
		for _, p := range all {
			switch err := p.Wait(); {
			case err == nil:
			case err.Error() == "signal: killed":
				killed++
			default:
				failed++
				assert.Regexp(t, `run "twice", node "summarise": another run is recording it: process \d+ on .*, since 20\d\d-.*: wait for it, stop it, `+
					`or use another run name`, p.said.String())
			}
		}
		assert.Less(t, failed, len(all))
		if killed == 0 {
			assert.Positive(t, failed, "the last one at least")
		} else {
			last := start(t, r.args)
			assert.NoError(t, last.Wait(), "%s", &last.said)
		}
		r.provider.Close()
		kills += min(1, killed)

		texts, twice, rest := r.judge(t, killed > 0)
		missing, repeated, broken = missing+*killTexts-texts, repeated+twice, broken+min(1, len(rest))
		if t.Failed() {
			var said []string
			for _, p := range all {
				said = append(said, p.said.String())
			}
			t.Fatalf("round %d: %s", round, strings.Join(said, "\n"))
		}
	}
	t.Logf("scorecard: row=17 rounds=%d kills=%d missing=%d twice=%d broken=%d", *roundsFlag, kills, missing, repeated, broken)
}

// race is what the programs of a round have in common.
type race struct {
	settings

	args     []string
	provider *providertest.Server
	begun    chan struct{} // closed at the first call
}

func newRace(t *testing.T, round int) *race {
	t.Helper()
	r := &race{begun: make(chan struct{})}
	once := sync.OnceFunc(func() { close(r.begun) })
	var err error
	r.provider, err = providertest.New(providertest.Config{
		Latency: providertest.Uniform{Min: 5 * time.Millisecond, Max: 25 * time.Millisecond}, Seed: uint64(round + 1),
		Fault: func(providertest.Request) *providertest.Fault { once(); return nil },
		Reply: func(r providertest.Request) string { return "about " + r.Key },
	})
	require.NoError(t, err)
	r.args = inFolder(t, *killTexts, "-run", "twice", "-parallel", strconv.Itoa(inFlight), "-url", r.provider.URL())
	r.settings, err = parse(r.args, nil)
	require.NoError(t, err)
	return r
}

// inFlight is how many calls a program has at once.
const inFlight = 8

// judge compares the journal and the output with the texts. Only calls that were in flight at a kill are paid for twice.
func (r *race) judge(t *testing.T, killed bool) (texts, twice int, rest []byte) {
	t.Helper()
	a := newAudit(r.settings)
	want := map[string]string{}
	for text, err := range readTexts(r.in) {
		require.NoError(t, err)
		want[text.ID] = "about " + text.ID
	}
	require.Len(t, want, *killTexts)
	assert.True(t, maps.Equal(want, a.records(t, r.journal)), "the journal has every text")
	lines, twice, rest := a.lines(t)
	assert.True(t, maps.Equal(want, lines), "the output has every text")
	assert.Zero(t, twice)
	assert.Empty(t, rest, "a broken line")
	served := r.provider.Ledger().Served
	if killed {
		assert.LessOrEqual(t, served-*killTexts, inFlight+3*group, "in flight, and answered but not recorded")
	} else {
		assert.Equal(t, *killTexts, served, "each was paid for once")
	}
	return len(lines), twice, rest
}
