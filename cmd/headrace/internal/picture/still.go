package picture

import (
	"bytes"
	"strings"

	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/event"
)

// Still returns the display of p on a terminal of 80 columns, with its colours.
func Still(p event.Progress) ([]string, error) {
	var out bytes.Buffer
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"TERM": "xterm", "LANG": "C.UTF-8", "FORCE_COLOR": "1"}[name]
		return value, ok
	}
	size := func() (int, int) { return 80, 24 }
	d, err := console.New(console.Config{Output: &out, Mode: console.TTY, Size: size, LookupEnv: lookup})
	if err != nil {
		return nil, err
	}
	d.Show(p)
	if err := d.Close(); err != nil {
		return nil, err
	}
	text := out.String()
	for _, control := range []string{"\x1b[?2026h", "\x1b[?2026l", "\x1b[?25l", "\x1b[?25h", "\x1b[K", "\x1b[J", "\r"} {
		text = strings.ReplaceAll(text, control, "")
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}
