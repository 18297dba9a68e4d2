package prose

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"unicode"
)

// persons are the words that are bounded per 1,000 words.
const persons = `who|whoever|whom|whose|nobody|somebody|anybody|everybody|someone|anyone|everyone`

// phrases are the expressions that the field has a common word for. A pattern
// has no capturing group, and its spaces also match a line break.
var phrases = []struct{ pattern, instead string }{
	{`(?:call|request|item|node|step|job|one|it|they)s? (?:may |must |can |will |has to |have to )?(?:go|goes) again`, "is retried, runs again"},
	{`(?:is|are|be|been|was|were) (?:also |not |only |never )?told`, "is reported to, receives"},
	{`(?:is|are|be|was|were) (?:not |never )?heard`, "is received, is noticed"},
	{`(?:provider|server|service|API)s? takes? (?:it|them)`, "the provider allows it"},
	{`(?:has|have|had|was|were|is|are|been|be) let go`, "was admitted, was released"},
	{`tells? (?:nobody|no one|anybody|somebody)`, "does not report"},
	{`nil (?:is|tells|means) nobody`, "a nil observer discards events"},
	{`nil: none`, "nil means no ..."},
	{`full legal speed`, "as fast as the limits allow"},
	{`knock(?:s|ed|ing)?`, "probe"},
	{`is done with`, "has finished"},
	{`what others get wrong`, "known failure modes"},
	{`to make (?:them|it) again`, "to reproduce"},
	{`he who|those who|one who|all who`, "callers that, those that"},
	{`(?:he|she|him|her)`, "it, the caller"},
	{`the law`, "the controller"},
}

// wanted has a capturing group for persons and one for each of the phrases.
var wanted = func() *regexp.Regexp {
	patterns := []string{"(" + persons + ")"}
	for _, p := range phrases {
		patterns = append(patterns, "("+strings.ReplaceAll(p.pattern, " ", `\s+`)+")")
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)
}()

// A Hit is a word or a phrase of a text.
type Hit struct {
	Line    int // from 1
	Text    string
	Instead string // empty for a person word
}

// A Count is what Check found in a text.
type Count struct {
	Words   int
	Persons []Hit
	Phrases []Hit
}

// Check counts the words of a text, and the hits in it.
func Check(text string) Count {
	var c Count
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) {
			c.Words++
		}
	}
	for _, at := range wanted.FindAllStringSubmatchIndex(text, -1) {
		hit := Hit{Line: 1 + strings.Count(text[:at[0]], "\n"), Text: strings.Join(strings.Fields(text[at[0]:at[1]]), " ")}
		if at[2] >= 0 {
			c.Persons = append(c.Persons, hit)
			continue
		}
		for i := range phrases {
			if at[2*(i+2)] >= 0 {
				hit.Instead = phrases[i].instead
			}
		}
		c.Phrases = append(c.Phrases, hit)
	}
	return c
}

// Page returns the prose of a Markdown page, each line in its place: fenced
// blocks, code spans, comments and the targets of links are left out.
func Page(page string) string {
	hidden := regexp.MustCompile("`[^`\n]*`|<!--.*?-->|\\]\\([^)\n]*\\)")
	lines := strings.Split(page, "\n")
	open := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimLeft(line, " >"), "```")
		if fence {
			open = !open
		}
		if fence || open {
			line = ""
		}
		lines[i] = hidden.ReplaceAllString(line, " · ")
	}
	return strings.Join(lines, "\n")
}

// Comments returns the comments of a Go file, each line in its place, without
// directives. It returns nothing for a generated file.
func Comments(source []byte) string {
	if regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`).Match(source) {
		return ""
	}
	lines := make([]string, 1+strings.Count(string(source), "\n"))
	directive := regexp.MustCompile(`^//(?:(?:go:\w|line |export ).*|nolint\S*)`)
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return strings.Join(lines, "\n")
		}
		if tok != token.COMMENT {
			continue
		}
		text = directive.ReplaceAllString(text, "")
		if strings.HasPrefix(text, "/*") {
			text = strings.TrimSuffix(text, "*/")
		}
		for i, line := range strings.Split(text, "\n") {
			lines[file.Line(pos)-1+i] += strings.TrimLeft(line, "/* \t") + " "
		}
	}
}
