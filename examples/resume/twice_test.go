package main

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
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

// The program is started twice on the same files. One of the two does the work, and the other says
// which process does. go test -run TestStartedTwice -rounds 10 -texts 3000 is the long version.
func TestStartedTwiceAtOnce(t *testing.T) {
	for round := range *roundsFlag {
		texts := *killTexts
		begun := make(chan struct{})
		once := sync.OnceFunc(func() { close(begun) })
		provider, err := providertest.New(providertest.Config{
			Latency: providertest.Uniform{Min: 5 * time.Millisecond, Max: 25 * time.Millisecond}, Seed: uint64(round + 1),
			Fault: func(providertest.Request) *providertest.Fault { once(); return nil },
			Reply: func(r providertest.Request) string { return "about " + r.Key },
		})
		require.NoError(t, err)
		args := inFolder(t, texts, "-run", "twice", "-parallel", "8", "-url", provider.URL())
		s, err := parse(args, nil)
		require.NoError(t, err)

		first, second := start(t, args), start(t, args)
		<-begun
		third := start(t, args) // while one of them is certainly at work
		failed := 0
		for _, p := range []*program{first, second, third} {
			if p.Wait() == nil {
				continue
			}
			failed++
			said := p.said.String()
			assert.Regexp(t, `run "twice", node "summarise": another run is recording it: process \d+ on .*, since 20\d\d-.*: wait for it, stop it, `+
				`or use another run name`, said)
		}
		assert.Positive(t, failed, "the third at least")
		assert.Less(t, failed, 3, "%s %s %s", &first.said, &second.said, &third.said)
		provider.Close()

		a := newAudit(s)
		want := map[string]string{}
		for text, err := range readTexts(s.in) {
			require.NoError(t, err)
			want[text.ID] = "about " + text.ID
		}
		require.Len(t, want, texts)
		assert.True(t, maps.Equal(want, a.records(t, s.journal)), "the journal has every text")
		lines, twice, rest := a.lines(t)
		assert.True(t, maps.Equal(want, lines), "the output has every text")
		assert.Zero(t, twice)
		assert.Empty(t, rest, "a broken line")
		assert.Equal(t, texts, provider.Ledger().Served, "each was paid for once")
		if t.Failed() {
			t.Fatalf("round %d: %s", round, strings.Join([]string{first.said.String(), second.said.String(), third.said.String()}, "\n"))
		}
	}
}
