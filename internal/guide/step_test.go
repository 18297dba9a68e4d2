package guide

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSteps(t *testing.T) {
	page := `text
<!-- given: export KEY=x -->
~~~sh
a
b
~~~
prints
<!-- output -->
~~~text
c
~~~
<!-- not run: needs a key -->
~~~sh
d
~~~
- a list

    of two paragraphs
`
	steps, err := Steps(strings.ReplaceAll(page, "~~~", "```"))
	require.NoError(t, err)
	require.Equal(t, []Step{
		{
			Line: 3, Lines: []string{"a", "b"}, Given: "export KEY=x",
			Want: []Block{{Line: 9, Lang: "text", Mark: "output", Lines: []string{"c"}}},
		},
		{Line: 13, Lines: []string{"d"}, NotRun: "needs a key"},
	}, steps)
}

func TestWhatCannotBeTyped(t *testing.T) {
	for page, want := range map[string]string{
		"~~~sh\n$ a\n~~~":    `line 2: "$ a" cannot be typed`,
		"~~~sh\na\n...\n~~~": `line 3: "..." cannot be typed`,
		"~~~bash\na\n~~~":    "line 1: commands are in a block of sh, not of bash",
		"x\n\n    a\n    b":  "line 3: a block is fenced",
		"\ta":                "line 1: a block is fenced",
		"- x\n\ny\n\n    a":  "line 5: a block is fenced",
		"<!-- not run: no key -->\n\n~~~sh\na\n~~~":                  "line 1: 1 comments are marks, and 0 stand",
		"<!-- not run -->\n~~~sh\na\n~~~":                            `line 2: "not run" says not what`,
		"<!-- not run: no key -->\n~~~go\na\n~~~":                    `line 2: "not run" is for a block of sh`,
		"<!-- given: a -->\n~~~\na\n~~~":                             `line 2: "given" is for a block of sh`,
		"<!-- output -->\n~~~text\na\n~~~":                           "line 2: it is the output of no commands that run",
		"<!-- not run: x -->\n~~~sh\n~~~\n<!-- output -->\n~~~\n~~~": "line 5: it is the output of no commands that run",
	} {
		_, err := Steps(strings.ReplaceAll(page, "~~~", "```"))
		require.ErrorContains(t, err, want, page)
	}
}

func TestCommandsCanBeTyped(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	seen := 0
	for page, text := range pages(t) {
		steps, err := Steps(text)
		require.NoError(t, err, page)
		for _, s := range steps {
			seen++
			script := s.Given + "\n" + strings.Join(s.Lines, "\n")
			said, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", script).CombinedOutput()
			require.NoError(t, err, "%s:%d: %s", page, s.Line, said)
		}
	}
	require.GreaterOrEqual(t, seen, 30)
}
