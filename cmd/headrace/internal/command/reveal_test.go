package command_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/providertest"
)

// The account of a long demo on a slow machine fits into 80 columns.
func TestRevealIsReadable(t *testing.T) {
	var out strings.Builder
	command.Reveal(&out, &provider.Ledger{
		Counts: providertest.Counts{Arrivals: 12345, Served: 11960, Refused: 1023, Faulted: 1020}, Seconds: 1234.5, Possible: 54321,
		Limits: []provider.Phase{{Limit: "100/s", Rate: 100, To: 1000.4, Possible: 12345, Served: 12345, Refused: 1234}, {Limit: "none", From: 1000.4, To: 1234.5, Served: 7}},
	})
	text := out.String()
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len(line), 81, line)
	}
	assert.Contains(t, text, "Goodput: 11960 answers in 1234.5 s, of 54321 possible: 22.0 %.\n")
	assert.Contains(t, text, "Of 12345 calls, 1023 got a 429: 8.3 %. 1020 failed on purpose (500).\n")
	assert.Regexp(t, `1000\.4 s +1234\.5 s +none +0 +7 +- +0`, text)

	out.Reset()
	command.Reveal(&out, &provider.Ledger{})
	assert.Contains(t, out.String(), "Goodput: 0 answers in 0.0 s, of 0 possible: -.\n")
}

func TestLastWords(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "headrace: no port\nheadrace: more\n": "no port", "\nfatal error: newproc\n\ngoroutine 1 [running]:\n": "fatal error: newproc",
	} {
		assert.Equal(t, want, command.LastWords(said))
	}
}

// The guide tells of the demo as it is.
func TestTheGuideKnowsTheDemo(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/cli.md")
	require.NoError(t, err)
	says := fmt.Sprintf("changes it every %g seconds", command.DemoMove.Seconds())
	assert.True(t, strings.Contains(string(page), says), "docs/cli.md does not say %q", says)
}

// The picture shows the display of the middle, where it was looked at there.
func TestTheMiddleIsShown(t *testing.T) {
	at := func(done int64) event.Progress {
		return event.Progress{Items: event.Items{Total: 10, Done: done - done/3, Failed: done / 3}, Final: done == 10}
	}
	for _, tc := range []struct {
		looked []int64
		want   int64
	}{
		{[]int64{0, 2, 4, 6, 8, 10}, 6},
		{[]int64{0, 5, 6, 10}, 5},
		{[]int64{0, 4, 10}, 4},
		{[]int64{9, 10}, 9},
		{[]int64{10}, 10},
	} {
		var all []event.Progress
		for _, n := range tc.looked {
			all = append(all, at(n))
		}
		assert.Equal(t, tc.want, command.Seen(all...).Items.Ended(), tc.looked)
	}
	assert.Nil(t, command.Seen())
}
