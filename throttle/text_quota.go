package throttle

import (
	"strings"
	"time"
)

// quota reads what follows the number of a window: its unit, if one is
// written, and its period.
func (p *parser) quota() (unit Unit, per time.Duration) {
	if p.tok.kind == wordToken && !p.tok.is("per") {
		if unit, per, ok := abbreviation(p.tok.text); ok {
			p.next()
			return unit, per
		}
		unit = p.unit()
	}
	t := p.tok
	if t.text != "/" && !t.is("per") {
		p.fail(t, "a / and a period are missing, as in 5/s; a number holds no commas or spaces")
	}
	p.next()
	return unit, p.period()
}

// abbreviation reads rpm, tpd, itpm and their like.
func abbreviation(s string) (unit Unit, per time.Duration, ok bool) {
	what, when, _ := strings.Cut(strings.ToLower(s), "p")
	switch what {
	case "r", "q":
		unit = Requests
	case "t":
		unit = Tokens
	case "it":
		unit = InputTokens
	case "ot":
		unit = OutputTokens
	default:
		return 0, 0, false
	}
	switch when {
	case "s":
		per = time.Second
	case "m":
		per = time.Minute
	case "h":
		per = time.Hour
	case "d":
		per = day
	default:
		return 0, 0, false
	}
	return unit, per, true
}

// unit reads the name of a unit.
func (p *parser) unit() Unit {
	first := p.tok
	p.next()
	name := strings.ToLower(first.text)
	if name == "input" || name == "output" {
		name += " " + strings.ToLower(p.tok.text)
		p.next()
	}
	for u := range Units {
		if plural := u.String(); name == plural || name+"s" == plural {
			return u
		}
	}
	p.fail(first, "it is not a unit: write requests, tokens, input tokens, output tokens or points, or none for requests")
	return Requests
}
