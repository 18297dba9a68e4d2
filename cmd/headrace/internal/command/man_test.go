package command

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func manualOf(t *testing.T) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := &Program{Args: []string{"man"}, Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &errs}
	require.Equal(t, OK, p.Main(context.Background()), errs.String())
	return out.String()
}

func TestManual(t *testing.T) {
	source := manualOf(t)
	for _, part := range []string{
		`.SS "headrace run"`, `.SS "headrace ctl pause"`, `\fB\-\-base\-url\fR=\fIURL\fR`, `\fB\-\-fresh\fR`, `\fB\-h\fR, \fB\-\-help\fR`,
		`\fIREQUESTS\fR`, "  headrace run requests.jsonl \\-\\-preset openai/tier1\n",
	} {
		assert.Contains(t, source, part)
	}
	assert.Equal(t, 1, strings.Count(source, "  0    all requests are done\n"), "the exit statuses of all commands are written once")
	assert.NotContains(t, source, completeWord)
	assert.Equal(t, strings.Count(source, "\n.EX\n"), strings.Count(source, "\n.EE\n"))
	for line := range strings.Lines(source) {
		if macro, ok := strings.CutPrefix(line, "."); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(macro), " ")
			assert.Contains(t, []string{"TH", "SH", "SS", "B", "PP", "TP", "EX", "EE"}, name, line)
		}
	}
}

func TestManualHasNoWarnings(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-z")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(manualOf(t)), &said, &said
	require.NoError(t, cmd.Run(), said.String())
	assert.Empty(t, said.String())
}

func TestVerbatim(t *testing.T) {
	assert.Equal(t, `\&.SH`, verbatim(".SH"))
	assert.Equal(t, `\&'x`, verbatim("'x"))
	assert.Equal(t, `a\eb \-\-c`, verbatim(`a\b --c`))
}
