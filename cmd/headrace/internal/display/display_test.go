package display_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/display"
	"github.com/headrace/headrace/flow"
)

func at(seconds int, final bool) flow.Progress {
	return flow.Progress{
		Elapsed: time.Duration(seconds) * time.Second, Final: final,
		Items:    flow.Items{Total: 100, Done: 20, Resumed: 5, Failed: 1, Rate: 12.34, ETA: 6200 * time.Millisecond},
		Limiters: []flow.LimiterProgress{{InFlight: 3, Hits: 2, Why: "the learnt rate"}},
	}
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := display.New("auto", &out)
	for i := range 21 {
		d.Show(at(i, false))
	}
	fmt.Fprintln(d.Writer(), "said")
	d.Show(at(21, true))
	require.NoError(t, d.Close())
	assert.Equal(t, `   10s  25 of 100 done, 1 failed, 12.3/s, 6s left; 3 in flight, 2 refused; the learnt rate
   20s  25 of 100 done, 1 failed, 12.3/s, 6s left; 3 in flight, 2 refused; the learnt rate
said
   21s  25 of 100 done, 1 failed, 12.3/s, 6s left; 3 in flight, 2 refused
`, out.String())
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := display.New("json", &out)
	d.Show(at(1, false))
	d.Show(at(2, true))
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, lines, 2)
	var last map[string]any
	require.NoError(t, json.Unmarshal(lines[1], &last))
	assert.Equal(t, true, last["final"])
	assert.InDelta(t, 25, last["done"].(float64)+last["resumed"].(float64), 0)

	out.Reset()
	display.New("off", &out).Show(at(1, true))
	assert.Empty(t, out.String())
}
