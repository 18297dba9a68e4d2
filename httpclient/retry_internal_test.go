package httpclient

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/replay"
)

// What net/http has sent on three connections is not sent on nine.
func TestRetryLeavesAloneWhatNetHTTPHasResent(t *testing.T) {
	again := &Error{Code: CodeRead, Phase: PhaseHeader, cause: io.EOF}
	assert.Equal(t, replay.Failed, outcomeOfError(again))
	again.cause = &resentError{maxFresh}
	assert.Equal(t, replay.Final, outcomeOfError(again))
}
