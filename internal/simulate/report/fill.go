package report

import (
	"bytes"
	"errors"
	"strings"
)

// The comments of a page of Markdown between which figures belong.
const (
	FillFrom = "<!-- figures: written by `make pictures`, not by hand -->\n"
	FillTo   = "<!-- end of figures -->\n"
)

// errNoPlace is about a page without them.
var errNoPlace = errors.New("report: the page has no place for figures: it takes the lines " + FillFrom + strings.TrimSpace(FillTo))

// Fill puts tables into a page, in the place of those that were there. Their
// headings come one level lower.
func Fill(page, tables []byte) ([]byte, error) {
	before, rest, _ := bytes.Cut(page, []byte(FillFrom))
	_, after, found := bytes.Cut(rest, []byte(FillTo))
	if !found {
		return nil, errNoPlace
	}
	lower := bytes.ReplaceAll(append([]byte("\n"), tables...), []byte("\n## "), []byte("\n### "))
	return bytes.Join([][]byte{before, []byte(FillFrom), lower, []byte(FillTo), after}, nil), nil
}
