package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

func TestTheCommandThatGoesOn(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2][]string{
		{{"run", "r.jsonl", "--rpm", "5"}, {"run", "r.jsonl", "--rpm", "5"}},
		{{"run", "--fresh", "my file"}, {"run", "'my file'"}},
		{{"run", "it's", "--limit", "5/s, 2 concurrent", ""}, {"run", `'it'\''s'`, "--limit", "'5/s, 2 concurrent'", "''"}},
		{{"run", "--header", "Authorization: Bearer x"}, {"run", "--header", "'Authorization: ...'"}},
		{{"run", "--header=X-Api-Key: x"}, {"run", "--header='X-Api-Key: ...'"}},
		{{"run", "--header", "no colon"}, {"run", "--header", "..."}},
		{{"run", "--header", "X-Variant: b"}, {"run", "--header", "'X-Variant: b'"}},
		{{"run", "--retry-failed", "--header"}, {"run", "--retry-failed", "--header"}},
	} {
		assert.Equal(t, tc[1], command.Again(tc[0], false))
	}
	assert.Equal(t, []string{"run", "r.jsonl", "--fresh=false"}, command.Again([]string{"run", "r.jsonl", "--fresh"}, true))
}
