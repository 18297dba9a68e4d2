package process_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/process"
)

func beChild() {
	fmt.Println(process.Self())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestAProcessThatWasKilledIsGone(t *testing.T) {
	if process.Self().Machine == "" {
		t.Skip("this system does not tell its processes apart")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, ok := process.Parse(strings.TrimSpace(line))
	require.True(t, ok, line)
	assert.Equal(t, process.Self().Machine, child.Machine)
	assert.False(t, child.Gone())

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.True(t, child.Gone())
}

func TestGone(t *testing.T) {
	me := process.Self()
	with := func(change func(*process.Identity)) process.Identity {
		i := me
		change(&i)
		return i
	}
	known := me.Machine != ""
	for name, tc := range map[string]struct {
		of   process.Identity
		want bool
	}{
		"this process":                   {me, false},
		"nothing":                        {process.Identity{}, false},
		"another machine":                {with(func(i *process.Identity) { i.Machine = "other"; i.PID = 1 << 30 }), false},
		"an unknown machine":             {with(func(i *process.Identity) { i.Machine = ""; i.PID = 1 << 30 }), false},
		"its number is this process now": {with(func(i *process.Identity) { i.Nonce = "other" }), known},
		"no process has its number":      {with(func(i *process.Identity) { i.PID = 1 << 30 }), known},
		"its number is the parent's now": {with(func(i *process.Identity) { i.PID, i.Start = os.Getppid(), "1" }), known && me.Start != ""},
	} {
		assert.Equal(t, tc.want, tc.of.Gone(), name)
	}
}

func TestParse(t *testing.T) {
	for _, i := range []process.Identity{process.Self(), {}, {Machine: "m", PID: 7}, {PID: 1, Nonce: "n"}} {
		got, ok := process.Parse(i.String())
		assert.True(t, ok, "%s", i)
		assert.Equal(t, i, got)
	}
	for _, text := range []string{"", "x", "m 1 - -  ", "m x - -", "m 1 - - more"} {
		_, ok := process.Parse(text)
		assert.False(t, ok, text)
	}
}
