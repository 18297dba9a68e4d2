//go:build unix

package main

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/store/sqlitestore"
)

// A service that heeds the Idempotency-Key answers a call that was cut off as it did, and what is asked for anew anew.
func TestTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	keys, status, hold := []string{}, 500, make(chan struct{})
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		mu.Lock()
		keys = append(keys, r.Key)
		s := status
		mu.Unlock()
		if s == 0 {
			<-hold
		}
		if s == 500 {
			return &providertest.Fault{Status: 500}
		}
		return nil
	}})
	defer close(hold)
	p.requests(1)
	// sent is the keys of what args send, and what happens from now on.
	sent := func(answer, want int, args ...string) []string {
		t.Helper()
		mu.Lock()
		keys, status = nil, answer
		mu.Unlock()
		got, _, errs := p.run(args...)
		require.Equal(t, want, got, errs)
		return keys
	}
	failed := sent(500, 1, "--max-attempts", "2")
	require.Len(t, failed, 2)
	assert.Equal(t, failed[0], failed[1], "sent again")

	again := sent(500, 1, "--max-attempts", "2", "--retry-failed")
	require.Len(t, again, 2)
	assert.Equal(t, again[0], again[1])
	assert.NotEqual(t, failed[0], again[0], "what has failed would come back")

	mu.Lock()
	keys, status = nil, 0
	mu.Unlock()
	cmd := p.command("run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL()+"/v1", "--retry-failed")
	require.NoError(t, cmd.Start())
	var killed string
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		if len(keys) > 0 {
			killed = keys[0]
		}
		return killed != ""
	})
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.NotEqual(t, again[0], killed)
	assert.Equal(t, []string{killed}, sent(200, 0, "--retry-failed"), "whoever was killed has asked for the same")

	fresh := sent(200, 0, "--fresh")
	require.Len(t, fresh, 1)
	assert.NotContains(t, slices.Concat(failed, again, []string{killed}), fresh[0], "the old answer is not wanted")
}

// What is learned of the limits is worth something to the next run at the same service, and to no other; --fresh forgets it.
func TestWhatIsLearnedIsForItsService(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if strings.Contains(r.Messages[0].Content, ">20<") {
			<-hold
		}
		return nil
	}})
	defer close(hold)
	learned := func(of string) []byte {
		kept, err := sqlitestore.OpenJournal(p.path("r.results.jsonl.journal"))
		require.NoError(t, err)
		law, err := kept.LoadLaw(t.Context(), of)
		require.NoError(t, err)
		require.NoError(t, kept.Close())
		return law.State
	}
	host := strings.TrimPrefix(p.provider.URL(), "http://")
	p.requests(20)
	status, _, errs := p.run("--preset", "openai/tier1")
	require.Zero(t, status, errs)
	assert.NotEmpty(t, learned(host+" openai/tier1 KEY"))

	other := newPlace(t, providertest.Config{Latency: providertest.Fixed(time.Millisecond)})
	status, _, errs = p.do("run", "r.jsonl", "--fresh", "--base-url", other.provider.URL()+"/v1", "--preset", "openai/tier1")
	require.Zero(t, status, errs)
	assert.NotEmpty(t, learned(strings.TrimPrefix(other.provider.URL(), "http://")+" openai/tier1 "))
	assert.NotEmpty(t, learned(host+" openai/tier1 KEY"))

	p.requests(21)
	cmd := p.command("run", "r.jsonl", "--fresh", "--preset", "openai/tier1", "--api-key-env", "KEY", "--base-url", p.provider.URL()+"/v1")
	require.NoError(t, cmd.Start())
	eventually(t, func() bool { return p.provider.Counts().Served == 40 })
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.Empty(t, learned(host+" openai/tier1 KEY"))
}
