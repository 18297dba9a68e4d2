package document_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/throttle"
)

type file struct {
	Entries []entry          `config:"entries"`
	Names   []string         `config:"names"`
	Counts  map[string]int64 `config:"counts"`
	Wait    time.Duration    `config:"wait"`
	Ignored int
}

type entry struct {
	Rate   *float64         `config:"rate"`
	Size   int64            `config:"size"`
	Limits *throttle.Limits `config:"limits"`
}

func decode(t *testing.T, text string) (f file, problems []document.Placed) {
	t.Helper()
	root, _, err := document.Read([]byte(text))
	require.NoError(t, err)
	var p document.Problems
	document.Decode(root, &f, &p)
	p.Find(root, len(p.List))
	return f, p.Placed(text)
}

func TestDecode(t *testing.T) {
	f, problems := decode(t, `{"$schema": "x", "entries": [{"rate": 0, "size": 5}, {"limits": "4/s"}], "names": ["a"], "counts": {"b": 3}, "wait": "2s"}`)
	assert.Empty(t, problems)
	require.Len(t, f.Entries, 2)
	assert.Equal(t, entry{Rate: new(0.0), Size: 5}, f.Entries[0], "a pointer tells 0 from nothing")
	assert.Nil(t, f.Entries[1].Rate)
	assert.Equal(t, "4/s", f.Entries[1].Limits.String())
	assert.Equal(t, file{Entries: f.Entries, Names: []string{"a"}, Counts: map[string]int64{"b": 3}, Wait: 2 * time.Second}, f)
}

// A problem in a list has the number of the element in its path, and its place.
func TestProblemsInLists(t *testing.T) {
	for text, want := range map[string]document.Placed{
		"{\"entries\":\n[{\"size\": 1},\n {\"size\": 0}]}": {Line: 3, Column: 11, Path: "entries[1].size", Text: "0 would be the default: leave the key out, or write at least 1"},
		`{"entries": [{"sise": 1}]}`:                       {Line: 1, Column: 15, Path: "entries[0].sise", Text: "the key is unknown: did you mean size?"},
		`{"entries": [5]}`:                                 {Line: 1, Column: 14, Path: "entries[0]", Text: `it is a number: write an object such as {"limits": "4/s"}`},
		`{"entries": {}}`:                                  {Line: 1, Column: 13, Path: "entries", Text: "it is an object: write a list of objects"},
		`{"Ignored": 1}`:                                   {Line: 1, Column: 2, Path: "Ignored", Text: "the key is unknown: the keys here are counts, entries, names, wait"},
	} {
		_, problems := decode(t, text)
		assert.Equal(t, []document.Placed{want}, problems, text)
	}
}
