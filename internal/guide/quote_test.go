package guide

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuoted(t *testing.T) {
	source := "package x\n\nfunc f() {\n\ta()\n\n\tif b {\n\t\tc()\n\t}\n\td()\n}"
	for name, c := range map[string]struct {
		block string
		ok    bool
	}{
		"as it is":             {"func f() {\n\ta()\n", true},
		"indented less":        {"a()\n\nif b {\n\tc()\n}", true},
		"with a gap":           {"a()\n...\nd()", true},
		"a gap at its end":     {"a()\n...", true},
		"one name is another":  {"a()\n\nif b {\n\te()\n}", false},
		"a line is missing":    {"if b {\n}", false},
		"half a line":          {"f() {", false},
		"the wrong order":      {"d()\n...\na()", false},
		"the same line twice":  {"a()\n...\na()", false},
		"indented differently": {"if b {\nc()\n}", false},
		"more than there is":   {"d()\n}\n}", false},
		"nothing":              {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			err := Quoted(strings.Split(source, "\n"), strings.Split(strings.TrimSuffix(c.block, "\n"), "\n"))
			require.Equal(t, c.ok, err == nil, "%v", err)
		})
	}
	require.Error(t, Quoted(nil, nil))
}
