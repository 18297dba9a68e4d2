package throttle

import (
	"fmt"
	"strings"
	"time"
)

// parser reads one limit. After the first problem it goes on, to no effect.
type parser struct {
	scanner
	tok token // the next
	err error // a *ParseError
}

func newParser(s string, at int) *parser {
	p := &parser{scanner: scanner{s, at}}
	p.next()
	return p
}

func (p *parser) next() { p.tok = p.scanner.next() }

func (p *parser) fail(t token, format string, args ...any) { p.failAt(t.at, t.text, format, args...) }

func (p *parser) failAt(at int, text, format string, args ...any) {
	if p.err == nil {
		p.err = &ParseError{Text: text, Offset: at, Problem: fmt.Sprintf(format, args...)}
	}
}

// limit is a window or, if it is not 0, a concurrency.
func (p *parser) limit() (w Window, concurrency int) {
	first := p.tok
	if first.kind == wordToken {
		p.next()
	}
	switch {
	case first.kind == numberToken:
		a := p.amount()
		if p.tok.is("concurrent") {
			p.next()
			concurrency = p.concurrency(a)
		} else {
			w = p.sliding(a)
		}
	case first.is("concurrency"):
		concurrency = p.concurrency(p.amount())
	case first.is("sliding"):
		w = p.sliding(p.amount())
	case first.is("bucket"):
		w = p.bucket()
	case first.is("fixed"):
		w = p.fixed()
	case first.is("burst"):
		p.fail(first, "a burst belongs to its bucket: remove the comma before it")
	case first.is(unlimited):
		p.fail(first, "it cannot be combined with other limits: remove them, or it")
	case first.kind == endToken:
		p.fail(first, "a limit is missing: write one, such as 5/s, or remove the comma")
	default:
		p.fail(first, "it does not begin a limit: write one such as 5/s, bucket 10/s burst 20, fixed 10000/day@UTC or 8 concurrent")
	}
	p.end()
	return w, concurrency
}

// concurrency is never 0, so that it is distinct from a window.
func (p *parser) concurrency(a amount) int {
	n := p.count(a)
	switch {
	case n == 0:
		p.failAt(a.at, a.text, "no call would ever be admitted: write at least 1, or leave it out for an unbounded concurrency")
	case int64(int(n)) != n:
		p.failAt(a.at, a.text, "it is more than an int holds")
	default:
		return int(n)
	}
	return 1
}

func (p *parser) sliding(a amount) Window {
	unit, per := p.quota()
	return Sliding(p.count(a), per).Of(unit)
}

func (p *parser) bucket() Window {
	a := p.amount()
	unit, per := p.quota()
	if per <= 0 {
		p.failAt(a.at, a.text, "its period, %s, is not a positive duration", per)
	}
	n := p.number(a)
	burst := defaultBurst(n)
	if p.tok.is("burst") {
		p.next()
		burst = p.count(p.amount())
	}
	return Bucket(n/per.Seconds(), burst).Of(unit)
}

func (p *parser) fixed() Window {
	a := p.amount()
	unit, per := p.quota()
	w := Fixed(p.count(a), per, time.Time{}).Of(unit)
	if p.tok.text != "@" {
		return w
	}
	text := strings.TrimSpace(p.rest)
	anchor, problem := parseAnchor(text)
	if problem != "" {
		p.failAt(p.at+strings.Index(p.rest, text), text, "%s", problem)
	}
	w.spec.Anchor = anchor
	p.tok, p.rest = token{}, ""
	return w
}

// end makes sure that nothing is left over.
func (p *parser) end() {
	t := p.tok
	switch {
	case t.kind == endToken:
	case t.text == ";":
		p.fail(t, "a semicolon separates keys: write a comma between limits")
	case t.text == ":":
		p.fail(t, "a colon ends a key: leave the key out")
	case t.text == "@":
		p.fail(t, "only a fixed window has an anchor: write fixed before the number")
	case t.is("burst"):
		p.fail(t, "only a bucket has a burst: write bucket before the number")
	default:
		p.fail(t, "the limit ends before it: remove it, or write a comma between limits")
	}
}
