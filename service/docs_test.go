//go:build unix

package service_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/guide"
	"github.com/headrace/headrace/service"
)

// The commands of docs/service.md are typed as printed, in their order, and print what the
// page says, but for what is different each time.
func TestTheGuide(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("this needs curl")
	}
	page, err := os.ReadFile("../docs/service.md")
	require.NoError(t, err)
	s := start(t, service.Config{File: "testdata/limits.yaml"})
	steps, err := guide.Steps(string(page))
	require.NoError(t, err)
	answers := map[int][]string{} // by the line of the step before
	last := 0
	for _, b := range guide.Blocks(string(page)) {
		switch b.Lang {
		case "sh":
			last = b.Line
		case "json":
			answers[last] = b.Lines
		}
	}
	seen := 0
	var mine []guide.Step
	for _, step := range steps {
		if strings.Contains(step.NotRun, "the tests of service") {
			step.NotRun = ""
			mine = append(mine, step)
		}
	}
	shell := guide.Shell{
		Dir: t.TempDir(), Env: os.Environ(), Scratch: t.TempDir(), Timeout: patience,
		Edit: strings.NewReplacer("http://127.0.0.1:8790", s.url),
	}
	err = shell.Run(t.Context(), mine, func(step guide.Step, r guide.Result) {
		require.NoError(t, r.Err, "line %d: %s", step.Line, r.Output)
		want := answers[step.Line]
		require.NotEmpty(t, want, "line %d has no answer", step.Line)
		var wanted, got any
		require.NoError(t, json.Unmarshal([]byte(strings.Join(want, "\n")), &wanted))
		require.NoError(t, json.Unmarshal([]byte(r.Output), &got), r.Output)
		assert.Equal(t, lasting(wanted), lasting(got), "line %d", step.Line)
		seen++
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, seen, 7)
}

// lasting is a value without what is different each time.
func lasting(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, value := range x {
			if text, ok := value.(string); ok && (key == "permit" || key == "reset_at") && text != "" {
				x[key] = "..."
				continue
			}
			x[key] = lasting(value)
		}
	case []any:
		for i := range x {
			x[i] = lasting(x[i])
		}
	}
	return v
}
