package demo_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/demo"
	"github.com/headrace/headrace/cmd/headrace/internal/requests"
)

// All requests can be sent, and no two of them have the same answer, so that none passes for another.
func TestQuestions(t *testing.T) {
	var out bytes.Buffer
	answers, err := demo.Write(&out, 1_000_000)
	require.NoError(t, err)
	assert.Equal(t, 1960, len(answers)) //nolint:testifylint // the map is no message
	whose := map[string]string{}
	for id, answer := range answers {
		require.Empty(t, whose[answer], "%s and %s", id, whose[answer])
		whose[answer] = id
	}
	assert.Equal(t, `Word 3 of moby is "Ishmael".`, answers["moby-003-ishmael"])
	n := 0
	for q, err := range requests.Read(&out, requests.OpenAI) {
		require.NoError(t, err)
		assert.Empty(t, q.Bad)
		require.NotEmpty(t, answers[q.ID])
		n++
	}
	assert.Equal(t, len(answers), n)

	answers, err = demo.Write(&out, 7)
	require.NoError(t, err)
	assert.Len(t, answers, 7)
}

// The texts are those of the quickstart: one module cannot embed what another one has.
func TestTexts(t *testing.T) {
	mine, err := filepath.Glob("text/*.txt")
	require.NoError(t, err)
	require.Len(t, mine, 6)
	for _, name := range mine {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		same, err := os.ReadFile("../../../../examples/quickstart/" + name)
		require.NoError(t, err)
		assert.Equal(t, string(same), string(text), name)
	}
}

func TestJoin(t *testing.T) {
	line := func(id, answer string) string {
		return fmt.Sprintf(`{"custom_id":%q,"response":{"body":{"choices":[{"message":{"content":%q}}]}}}`+"\n", id, answer)
	}
	due := map[string]string{"a": "A", "b": "B", "c": "C"}
	for name, tc := range map[string]struct {
		results string
		want    demo.Joined
	}{
		"nothing":    {"", demo.Joined{Lost: 3}},
		"all":        {line("c", "C") + line("a", "A") + line("b", "B"), demo.Joined{Own: 3}},
		"twice":      {line("a", "A") + line("b", "B") + line("a", "A") + line("c", "C"), demo.Joined{Own: 3, Twice: 1}},
		"mixed up":   {line("a", "B") + line("b", "A") + line("c", "C"), demo.Joined{Own: 1, Foreign: 2}},
		"not asked":  {line("a", "A") + line("d", "D"), demo.Joined{Own: 1, Foreign: 1, Lost: 2}},
		"not a word": {`{"custom_id":"a","response":{"body":{"choices":[]}}}`, demo.Joined{Foreign: 1, Lost: 2}},
	} {
		got, err := demo.Join(strings.NewReader(tc.results), due)
		require.NoError(t, err, name)
		assert.Equal(t, tc.want, got, name)
		assert.Equal(t, name == "all", got.OK(), name)
	}
	_, err := demo.Join(strings.NewReader("{"), due)
	require.Error(t, err)
}
