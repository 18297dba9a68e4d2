package service_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service"
)

func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
rate_limits:
  - {name: trial, scope: user, resource: search, capacity: 3, refill_rate: 0}
  - {scope: user, limits: "5/s, 300/min"}
  - {scope: tenant, capacity: 100, refill_rate: 10}
runtime: {store: "redis://u:secret@h:1/0", outage: open}
`), 0o600))
	i, err := service.Inspect(path)
	require.NoError(t, err)
	assert.Equal(t, service.Inspection{Store: "redis://u:secret@h:1/0", Outage: "open", Limits: []service.Limit{
		{"trial", "user", "search", "3 once"},
		{"user", "user", "", "5/s, 300/min"},
		{"tenant", "tenant", "", "bucket 10/s burst 100"},
		{"default", "", "", "bucket 10/s burst 1000"},
	}}, i)
	require.NoError(t, os.WriteFile(path, []byte("rate_limits: [{scop: user}]"), 0o600))
	_, err = service.Inspect(path)
	assert.ErrorContains(t, err, "limits.yaml:1:16: rate_limits[0].scop: the key is unknown: did you mean scope?")
}
