package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Limits in days of a time zone need no files of the system, which a container may lack.
func TestTimeZonesAreBuiltIn(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	assert.Contains(t, strings.Fields(string(out)), "time/tzdata")
}
