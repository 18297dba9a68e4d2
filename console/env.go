package console

import "strings"

// environment is what the environment asks for; lookup is os.LookupEnv or alike.
type environment struct{ lookup func(string) (string, bool) }

func (e environment) get(name string) string {
	v, _ := e.lookup(name)
	return v
}

// wants reports whether a switch is on: set, and neither "0" nor "false".
func (e environment) wants(name string) bool {
	v := e.get(name)
	return v != "" && v != "0" && v != "false"
}

// refuses reports whether a switch is off in so many words.
func (e environment) refuses(name string) bool {
	v := e.get(name)
	return v == "0" || v == "false"
}

// dumb: the terminal moves no cursor, as far as the environment tells.
func (e environment) dumb(windows bool) bool {
	term := e.get("TERM")
	return term == "dumb" || term == "" && !windows
}

// mode resolves Auto for an output that is a terminal or not.
func (e environment) mode(terminal, windows bool) Mode {
	if terminal && !e.wants("CI") && !e.dumb(windows) {
		return TTY
	}
	return Plain
}

// colour by the conventions: NO_COLOR wins (no-color.org), then FORCE_COLOR and
// CLICOLOR_FORCE, then CLICOLOR=0 (bixense.com/clicolors); else it is for terminals.
func (e environment) colour(terminal, windows bool) bool {
	switch {
	case e.get("NO_COLOR") != "", e.refuses("FORCE_COLOR"):
		return false
	case e.wants("FORCE_COLOR"), e.wants("CLICOLOR_FORCE"):
		return true
	default:
		return terminal && !e.dumb(windows) && e.get("CLICOLOR") != "0"
	}
}

// ascii: characters beyond ASCII cannot be shown, or have an unknown width, as
// those of block graphics have in the languages of East Asia.
func (e environment) ascii(windows bool) bool {
	locale := e.get("LC_ALL")
	for _, name := range []string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = e.get(name)
		}
	}
	if locale == "" && windows {
		return false
	}
	lower := strings.ToLower(locale)
	if !strings.Contains(lower, "utf-8") && !strings.Contains(lower, "utf8") {
		return true
	}
	for _, east := range []string{"zh", "ja", "ko"} {
		if strings.HasPrefix(lower, east) {
			return true
		}
	}
	return false
}
