package console

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go test -update writes %s anew", path)
}

// env is an environment with nothing but these.
func env(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

// modern is a good terminal without colours, so that texts can be compared.
var modern = env(map[string]string{"TERM": "xterm-256color", "LANG": "en_GB.UTF-8", "NO_COLOR": "1"})

// output is a writer that can be looked at.
type output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

var day = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// busy is the middle of a run, over its end.
func busy() *event.Progress {
	return &event.Progress{
		Time: day.Add(126 * time.Second), Name: "digest", Elapsed: 126 * time.Second,
		Items: event.Items{
			Total: 2860, Pending: 16, Done: 1191, Resumed: 40, Failed: 3, Retries: 12, Rate: 9.8, ETA: 166 * time.Second,
		},
		Nodes: []event.NodeProgress{
			{Name: "split", Runs: 1},
			{
				Name: "summarise", Running: 1, Items: event.Items{
					Total: 2860, Pending: 16, Done: 1191, Resumed: 40, Failed: 3, Retries: 12, Rate: 9.8, ETA: 166 * time.Second,
				},
			},
			{Name: "check", Running: 2, Runs: 7, Failures: 1},
		},
		Limiters: []event.LimiterProgress{
			{
				Name: "summarise", Live: true, Limit: 16, InFlight: 12, Waiting: 4, Calls: 1210, Hits: 3, Cuts: 1,
				Pace: map[string]float64{"requests": 9.9, "tokens": 1234.5},
				Why:  "12 in flight of 16, 4 waiting: held back by the learned rate of 9.9 requests/s, rising until it is refused",
			},
			{Name: "hidden", Hits: 2},
		},
	}
}

func over() *event.Progress {
	p := busy()
	p.Time, p.Elapsed, p.Final = day.Add(296*time.Second), 296*time.Second, true
	p.Items = event.Items{Total: 2860, Done: 2817, Resumed: 40, Failed: 3, Retries: 19, Rate: 9.5}
	p.Nodes[1].Running, p.Nodes[1].Runs, p.Nodes[1].Items = 0, 1, p.Items
	p.Nodes[2].Running, p.Nodes[2].Runs = 0, 9
	p.Limiters[0].InFlight, p.Limiters[0].Waiting, p.Limiters[0].Calls = 0, 0, 2842
	return p
}

// stage is busy with other numbers.
func stage(at time.Duration, done int64) event.Progress {
	return event.Progress{
		Time: day.Add(at), Name: "digest", Elapsed: at,
		Items: event.Items{Total: 100, Done: done, Pending: 4, Rate: 2},
	}
}

// hour is busy after an hour, when its clock shows minutes and nothing moves by itself.
func hour() *event.Progress {
	p := busy()
	p.Elapsed = time.Hour
	return p
}
