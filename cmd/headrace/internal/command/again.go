package command

import (
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// again returns the command line that resumes the run, quoted for a shell. It leaves out --fresh, even if the
// environment or a file sets it, and whatever may be secret in a --header or --share.
func again(args []string, fresh bool) []string {
	var words []string
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		switch {
		case name == "--fresh" || name == "--no-fresh":
		case name == "--header" && given:
			words = append(words, "--header="+quoted(withoutSecret(value)))
		case name == "--header" && i+1 < len(args):
			i++
			words = append(words, name, quoted(withoutSecret(args[i])))
		case name == "--share" && given:
			words = append(words, "--share="+quoted(settings.WithoutPassword(value)))
		case name == "--share" && i+1 < len(args):
			i++
			words = append(words, name, quoted(settings.WithoutPassword(args[i])))
		default:
			words = append(words, quoted(args[i]))
		}
	}
	if fresh {
		words = append(words, "--fresh=false")
	}
	return words
}

func withoutSecret(header string) string {
	switch name, _, ok := strings.Cut(header, ":"); {
	case !ok:
		return "..."
	case settings.Secretive(name):
		return name + ": ..."
	}
	return header
}

// quoted returns word quoted so that a shell reads it as one word.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,@+%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
