package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/node"
)

// However many messages differ, the memory is bounded, each failure is counted, and a frequent cause that begins late has a line.
func TestCausesAreBounded(t *testing.T) {
	t.Parallel()
	var o run.Outcome
	fail := func(status int, message string) {
		o.Count(&results.Result{State: node.Failed, Err: &results.RequestError{
			Code: fmt.Sprintf("status_%d", status), StatusCode: status, Message: message,
		}})
	}
	const many = 10_000
	for i := range many {
		fail(400, fmt.Sprintf("the text %c is not valid", 'A'+rune(i)))
	}
	for range 500 {
		fail(403, "no access")
	}
	fail(403, "none")
	all := o.Causes()
	require.Len(t, all, 66)
	assert.Equal(t, int64(many-64), all[0].Count)
	assert.Contains(t, all[0].String(), "400, for example: the text ")
	assert.Equal(t, "status 403, for example: no access", all[1].String())
	sum := int64(0)
	for _, c := range all {
		sum += c.Count
	}
	assert.Equal(t, int64(many+501), sum)
}

func TestACauseWithoutAMessage(t *testing.T) {
	t.Parallel()
	c := run.Cause{Code: "status_400", Status: 400, Message: "status 400 Bad Request"}
	assert.Equal(t, "status 400 Bad Request", c.String())
}

// Amounts of different lengths move the end of what is kept of a long message. That is no other cause.
func TestALongMessageIsOneCause(t *testing.T) {
	t.Parallel()
	for about, rest := range map[string]string{"words": strings.Repeat("a word of the explanation ", 12), "one word": strings.Repeat("x", 290)} {
		var o run.Outcome
		for n := 1; n <= 1_000_000; n *= 10 {
			o.Count(&results.Result{State: node.Failed, Err: &results.RequestError{
				Code: "status_400", StatusCode: 400, Message: fmt.Sprintf("%d is too many: %s", n, rest),
			}})
		}
		all := o.Causes()
		require.Len(t, all, 1, about)
		assert.Equal(t, int64(7), all[0].Count)
		assert.LessOrEqual(t, len(all[0].Message), 200+len("..."))
		assert.True(t, all[0].Differ)
	}
}
