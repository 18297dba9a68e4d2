package terminal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/terminal"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[2J\x1b]0;title\a": `\u001b[2J\u001b]0;title\u0007`, "a\rb\tc\n": "a\\u000db\tc\n", "\u009b2J": `\u009b2J`, "\x9b2J": `\u009b2J`,
		"\u202eabc\u200b": `\u202eabc\u200b`, "\U000e0041": "\uFFFD", "👩\u200d🔧 é نمی\u200cخواهم": "👩\u200d🔧 é نمی\u200cخواهم", "\uFFFD": "\uFFFD", "": "",
	} {
		assert.Equal(t, want, terminal.Plain(in))
	}
}

// Whatever comes, it is text, doing it again changes nothing, and a line of JSON stays one.
func TestPlainIsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		out := terminal.Plain(in)
		require.True(t, utf8.ValidString(out))
		require.False(t, strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }))
		require.Equal(t, out, terminal.Plain(out))
		line, err := json.Marshal(in)
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(terminal.Plain(string(line)))))
	})
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n, err := terminal.Writer(&out).Write([]byte("\x1b[0m\n"))
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	assert.Equal(t, "\\u001b[0m\n", out.String())
	closed := errors.New("closed")
	_, err = terminal.Writer(failing{closed}).Write([]byte("a"))
	require.ErrorIs(t, err, closed)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}
