package asleep_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/service/internal/asleep"
)

// childEnv has the test binary print Total.
const childEnv = "HEADRACE_ASLEEP_CHILD"

// A process of another time namespace has a machine that was suspended for a day more.
func TestTotal(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		fmt.Println(asleep.Total())
		os.Exit(0)
	}
	child := exec.CommandContext(t.Context(), "unshare", "--time", "--boottime", "86400", os.Args[0], "-test.run=^TestTotal$")
	child.Env = append(os.Environ(), childEnv+"=1")
	out, err := child.Output()
	if err != nil {
		t.Skip("no time namespace can be made: ", err)
	}
	var text string
	_, err = fmt.Sscan(string(out), &text)
	require.NoError(t, err)
	total, err := time.ParseDuration(text)
	require.NoError(t, err)
	assert.InDelta(t, 24*time.Hour, total-asleep.Total(), float64(time.Hour))
}
