package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

// What goes wrong in this program is no success.
func TestAPanicIsNotSwallowed(t *testing.T) {
	p := &command.Program{Args: []string{"version"}, Getenv: func(string) string { panic("a mistake of ours") }}
	assert.PanicsWithValue(t, "a mistake of ours", func() { p.Main(t.Context()) })
}

func TestWhatIsMeant(t *testing.T) {
	t.Parallel()
	names := []string{"rpm", "tpm", "limit", "max-wait", "concurrency"}
	for word, want := range map[string]string{
		"rpn": "rpm", "prm": "rpm", "limits": "limit", "limt": "limit", "liimt": "limit", "max-wiat": "max-wait",
		"cncurency": "concurrency", "cncurncy": "", "x": "", "": "", "latency": "", "rpm": "rpm",
	} {
		if want != "" {
			want = ", did you mean \"" + want + "\"?"
		}
		assert.Equal(t, want, command.Meant(word, names), word)
	}
}
