package node_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/node"
)

type (
	hidden struct{ text string }
	base   struct{ Name string }
)

// problemsOf are what Validate finds in a batch of such items, without a key, and such results.
func problemsOf[In, Out any](j journal.Journal) error {
	m := node.Map("m", func(context.Context, In) (out Out, err error) { return out, nil })
	if j != nil {
		m.WithJournal(j)
	}
	return m.Validate()
}

// TestShapes has the types: an instance of Batch for each, as items and as results, would take a minute to compile.
func TestTypesThatJSONLeavesFieldsOutOfAreRefused(t *testing.T) {
	j := journal.NewMemory()
	require.NoError(t, problemsOf[int, int](j))
	const lost = "leaves out node_test.hidden.text: "
	item, result := problemsOf[hidden, int](j), problemsOf[int, hidden](j)
	assertProblems(t, item, "WithKey")
	require.ErrorContains(t, item, lost+"use WithKey to identify items")
	assertProblems(t, result, "WithJournal")
	require.ErrorContains(t, result, lost+"export it")

	keyed := node.Map("m", func(context.Context, hidden) (int, error) { return 0, nil }).WithKey(func(h hidden) string { return h.text })
	require.NoError(t, keyed.WithJournal(j).Validate())
	require.NoError(t, problemsOf[hidden, int](nil), "without a journal")
	require.NoError(t, problemsOf[int, hidden](nil), "without a journal")
}

// What no type shows is looked for in each result: it fails that item, and is recorded so.
func TestResultsThatWouldComeBackDifferentFail(t *testing.T) {
	const big = 1<<53 + 1
	for name, tc := range map[string]struct {
		out  any
		want string // of the error; empty: there is none
	}{
		"what JSON has":         {map[string]any{"a": []any{1.5, "x", true, nil}}, ""},
		"an int":                {5, "it holds a value of type int in an interface"},
		"a large number":        {map[string]any{"n": big}, "it holds a value of type int in an interface"},
		"a struct":              {base{"x"}, "it holds a value of type node_test.base in an interface"},
		"a channel":             {make(chan int), "json: unsupported type: chan int"},
		"text that is not UTF8": {"a\xff", "it holds text that is not UTF-8"},
		"a replaced rune":       {"a\ufffd", ""},
		"an escape in text":     {`a\ufffd`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var calls tally
			j := journal.NewMemory()
			for range 2 {
				outs, err := node.Map("m", func(_ context.Context, i int) (any, error) {
					if calls.add(i); i == 1 {
						return tc.out, nil
					}
					return "fine", nil
				}).WithJournal(j).All(t.Context(), numbers(3))
				assert.Equal(t, "fine", outs[2])
				assert.Equal(t, 3, calls.sum())
				if tc.want == "" {
					require.NoError(t, err)
					assert.Equal(t, tc.out, outs[1])
					continue
				}
				require.ErrorContains(t, err, "1 of 3 items failed; first: item 1: ")
				require.ErrorContains(t, err, "the result cannot be kept: "+tc.want)
			}
		})
	}
}

// lossy keeps less than it is given.
type lossy struct{ Text string }

func (l lossy) MarshalJSON() ([]byte, error) { return json.Marshal(l.Text) }

func (l *lossy) UnmarshalJSON(text []byte) error {
	err := json.Unmarshal(text, &l.Text)
	l.Text = strings.TrimSpace(l.Text)
	return err
}

// The excerpt of a result in its error is nothing that the provider has said about limits.
func TestAResultThatCannotBeKeptIsNoRefusal(t *testing.T) {
	j := journal.NewMemory()
	var calls tally
	for range 2 {
		outs, err := node.Map("m", func(_ context.Context, i int) (lossy, error) {
			calls.add(i)
			return lossy{" HTTP 429: rate limit exceeded, insufficient_quota"}, nil
		}).WithJournal(j).All(t.Context(), []int{1})
		require.ErrorContains(t, err, "it changes in a round trip")
		assert.Zero(t, outs[0])
	}
	assert.Equal(t, 1, calls.sum(), "it is recorded as failed")
	assert.Len(t, records(t, j, "m", journal.Failed), 1)
}

// oneWay is encoded as what it cannot be decoded from.
type oneWay struct{ Text string }

func (o oneWay) MarshalJSON() ([]byte, error) { return json.Marshal(o.Text) }

func TestCodeOfATypeThatKeepsLess(t *testing.T) {
	give := func(text string) error {
		_, err := node.Map("m", func(context.Context, int) (lossy, error) { return lossy{text}, nil }).
			WithJournal(journal.NewMemory()).All(t.Context(), []int{1})
		return err
	}
	require.NoError(t, give("text"))
	require.ErrorContains(t, give(" text"), `it changes in a round trip through JSON: "\" text\"", then "\"text\""`)
	_, err := node.Map("m", func(context.Context, int) (oneWay, error) { return oneWay{"x"}, nil }).
		WithJournal(journal.NewMemory()).All(t.Context(), []int{1})
	require.ErrorContains(t, err, "it cannot be decoded again")
}

// level is written as a word, and read as a number.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte([]string{"low", "high"}[l]), nil }

// folded is read in lower case.
type folded string

func (f *folded) UnmarshalText(text []byte) error {
	*f = folded(strings.ToLower(string(text)))
	return nil
}

// Else a resumed run would stop at the first of them, or take other keys for theirs.
func TestKeysOfAMapWithCodeOfTheirOwn(t *testing.T) {
	_, err := node.Map("m", func(context.Context, int) (map[level]int, error) { return map[level]int{1: 1}, nil }).
		WithJournal(journal.NewMemory()).All(t.Context(), []int{1})
	require.ErrorContains(t, err, "the result cannot be kept: it cannot be decoded again")
	j := journal.NewMemory()
	for range 2 {
		outs, err := node.Map("m", func(_ context.Context, key string) (map[folded]int, error) {
			return map[folded]int{folded(key): 1}, nil
		}).
			WithJournal(j).All(t.Context(), []string{"a", "B"})
		require.ErrorContains(t, err, "the result cannot be kept: it changes in a round trip through JSON")
		assert.Equal(t, []map[folded]int{{"a": 1}, nil}, outs)
	}
}

// An item of an interface type is looked at when it comes.
func TestItemsInAnInterface(t *testing.T) {
	m := node.Map("m", func(_ context.Context, item any) (int, error) { return 1, nil }).WithJournal(journal.NewMemory())
	outs, err := m.All(t.Context(), []any{1, "1", base{"x"}, hidden{"apples"}, hidden{"plums"}, "a\xff"})
	require.ErrorContains(t, err, "3 of 6 items failed; first: item 3: the item has no JSON to know it by: use WithKey: it leaves out node_test.hidden.text")
	assert.Equal(t, []int{1, 1, 1, 0, 0, 0}, outs)
}
