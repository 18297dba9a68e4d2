package redact_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/redact"
)

func TestCollectorsAroundACollectorHearTheSame(t *testing.T) {
	var outer, inner, other redact.Collector
	ctx := outer.Within(t.Context())
	within := inner.Within(ctx)
	redact.Sent(t.Context(), "Authorization", "Bearer to-no-collector")
	redact.Sent(ctx, "Authorization", "the-first-key")
	for range 2 {
		redact.Sent(within, "X-Api-Key", "the-second-key")
	}
	assert.Equal(t, []string{"Authorization", "X-Api-Key"}, outer.Headers())
	assert.Equal(t, []string{"the-second-key", "the-first-key"}, outer.Credentials())
	assert.Equal(t, []string{"X-Api-Key"}, inner.Headers())
	assert.Equal(t, []string{"the-second-key"}, inner.Credentials())
	assert.Empty(t, other.Credentials())
}
