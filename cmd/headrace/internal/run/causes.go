package run

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/headrace/headrace/cmd/headrace/internal/results"
)

const (
	mostCauses = 64  // causes that are distinguished by their messages; further ones only by their codes
	mostCause  = 200 // bytes of the message of a cause
)

// Cause is a reason why requests have failed.
type Cause struct {
	Code    string `json:"code"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`          // of the first of these requests
	Differ  bool   `json:"differ,omitempty"` // other messages of these requests differ from it
	Count   int64  `json:"count"`
}

// String describes the cause in one line.
func (c *Cause) String() string {
	name, example := "code "+c.Code, ""
	if c.Status > 0 && c.Code != results.NotJSON {
		name = "status " + strconv.Itoa(c.Status)
	}
	if strings.HasPrefix(c.Message, name) { // the response had no text
		return c.Message
	}
	if c.Differ {
		example = ", for example"
	}
	return name + example + ": " + c.Message
}

// causes counts failures by code and message.
type causes struct{ all map[causeKey]*Cause }

type causeKey struct{ code, shape string }

func (c *causes) count(f *results.RequestError) {
	text := oneLine(f.Message, mostCause)
	key := causeKey{f.Code, oneLine(shape(f.Message), mostCause)} // not the shape of text, which is cut depending on the lengths of IDs
	if c.all == nil {
		c.all = map[causeKey]*Cause{}
	}
	if c.all[key] == nil && len(c.all) >= mostCauses {
		key.shape = ""
	}
	known := c.all[key]
	if known == nil {
		known = &Cause{Code: f.Code, Status: f.StatusCode, Message: text}
		c.all[key] = known
	}
	known.Count++
	known.Differ = known.Differ || known.Message != text
}

// shape returns text without the words that hold a digit, because IDs and amounts differ from request to request.
func shape(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			words[i] = "0"
		}
	}
	return strings.Join(words, " ")
}

// sorted returns the causes, the most frequent one first.
func (c *causes) sorted() []Cause {
	all := make([]Cause, 0, len(c.all))
	for _, one := range c.all {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return all
}
