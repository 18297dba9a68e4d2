package registry

import (
	"strings"
	"unicode"

	"github.com/headrace/headrace/internal/invalid"
)

const (
	defaultName = "default" // the template, and the limiter of callers who name nothing
	anyHost     = "*"       // in Service.Hosts: the template of the other hosts
	longestName = 256
)

// keyOf is the one spelling of a name.
func keyOf(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// hostOf is the one spelling of a host, which may end in the dot of the root.
func hostOf(host string) string { return strings.TrimSuffix(keyOf(host), ".") }

// join is the key of a service's host.
func join(service, host string) string { return service + "/" + host }

// nameProblem is what is wrong with a key; empty: nothing.
func nameProblem(key string) string {
	switch {
	case key == "":
		return `the name is empty: write one such as "openai"`
	case len(key) > longestName:
		return "the name is longer than 256 bytes"
	case strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "the name holds a character that cannot be printed"
	case key == defaultName:
		return "the name is that of the template: set Config.Default, or take another name"
	case strings.HasSuffix(key, "/"+anyHost):
		return "the name is that of a template: set Hosts in the Config, or name the host"
	default:
		return ""
	}
}

// checked is the key of a name that somebody gives to a limiter.
func checked(name string) (string, error) {
	key := keyOf(name)
	p := invalid.Problems{Owner: owner}
	if problem := nameProblem(key); problem != "" {
		p.Addf("Name", "%q: %s", clip(name), problem)
	}
	return key, p.Err()
}

// tidy is a key that may come from anywhere, such as a URL: it can be printed,
// and is not long.
func tidy(key string) string {
	key = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, key)
	if len(key) > longestName {
		key = strings.ToValidUTF8(key[:longestName], "")
	}
	return key
}

// clip keeps a hostile text out of a log.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
