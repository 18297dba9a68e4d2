package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/console"
)

// strangers are environment variables that look like flags and are none.
func strangers(environ []string, app *kong.Node) (told []string) {
	var known []string
	for name := range flags(app) {
		known = append(known, variable(name))
	}
	for _, one := range environ {
		name, value, _ := strings.Cut(one, "=")
		if strings.HasPrefix(name, prefix) && value != "" && !slices.Contains(known, name) {
			told = append(told, name+" is set, and stands for no flag: it is not used"+meant(name, known))
		}
	}
	return told
}

// meant asks for the name that word may have been meant for.
func meant(word string, names []string) string {
	best, least := "", 3
	for _, name := range slices.Sorted(slices.Values(names)) {
		if n := distance(word, name); n < least {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is how many letters have to be put in, left out, exchanged or swapped to make b of a.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// plainly is an error of kong in our words.
func plainly(err error) error {
	if own := (*settings.Error)(nil); errors.As(err, &own) {
		return own
	}
	if mode := (*console.ModeError)(nil); errors.As(err, &mode) {
		return &settings.Error{Flag: "--progress", Problem: settings.Plain(mode)}
	}
	text, hint := err.Error(), "headrace --help"
	parse := (*kong.ParseError)(nil)
	if errors.As(err, &parse) && parse.Context != nil {
		words := []string{"headrace"}
		for _, one := range parse.Context.Path {
			if one.Command != nil {
				words = append(words, one.Command.Name)
			}
		}
		hint = strings.Join(append(words, "--help"), " ")
	}
	if flag, rest, ok := strings.Cut(text, ": expected "); ok && strings.HasSuffix(rest, `but got "EOL" (<EOL>)`) {
		text = flag + ": a value is missing"
	}
	if name, ok := strings.CutPrefix(text, `expected "`); ok {
		text = "something is missing: " + cmp.Or(strings.TrimSuffix(name, `"`), name)
	}
	return fmt.Errorf("%s (%s tells more)", text, hint)
}
