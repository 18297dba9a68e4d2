package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/headrace/headrace/cmd/headrace/internal/gateway"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/console"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/near"
)

// strangers returns environment variables that look like flags but are not.
func strangers(environ []string, app *kong.Node) (told []string) {
	known := []string{gateway.BaseVariable, group.TokenEnv} // set by headrace exec, or read by --share
	for name := range flags(app) {
		known = append(known, variable(name))
	}
	for _, one := range environ {
		name, value, _ := strings.Cut(one, "=")
		if strings.HasPrefix(name, prefix) && value != "" && !slices.Contains(known, name) {
			told = append(told, name+" is set, but does not correspond to a flag: it is ignored"+meant(name, known))
		}
	}
	return told
}

// meant suggests the name that word may be a misspelling of.
func meant(word string, names []string) string {
	if found := near.Names(word, slices.Sorted(slices.Values(names)), 1); len(found) > 0 {
		return fmt.Sprintf(", did you mean %q?", found[0])
	}
	return ""
}

// negative returns the flag and its negative number in an error of kong, which takes the number for a flag.
func negative(text string) (flag, value string, ok bool) {
	flag, rest, _ := strings.Cut(text, ": expected ")
	_, rest, _ = strings.Cut(rest, ` but got "-`)
	value, _, ok = strings.Cut(rest, `" (short flag)`)
	return flag, "-" + value, ok && value != "" && value[0] >= '0' && value[0] <= '9'
}

// notBool rewords kong's text about a value that is not a bool.
func notBool(text string) string {
	flag, value, ok := strings.Cut(text, "bool value must be true, 1, yes, false, 0 or no but got ")
	if !ok {
		return text
	}
	return flag + value + " is not true or false"
}

// plainly rewords an error of kong.
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
	text = notBool(text)
	if flag, value, ok := negative(text); ok {
		text = fmt.Sprintf("%s: %s is negative", flag, value)
	}
	if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && settings.LooksLikeKey(word) {
		text = "unexpected argument: a value with spaces, such as that of --header, has to be in quotes"
	}
	if name, ok := strings.CutPrefix(text, `expected "`); ok {
		text = "missing: " + cmp.Or(strings.TrimSuffix(name, `"`), name)
	}
	return fmt.Errorf("%s (see %s)", text, hint)
}
