package run_test

import (
	"fmt"
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
