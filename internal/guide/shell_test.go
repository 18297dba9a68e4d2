//go:build unix

package guide

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// play runs a page, and returns what was printed, one text for each step.
func play(t *testing.T, s Shell, page string) (dir string, printed []string, err error) {
	t.Helper()
	steps, err := Steps(strings.ReplaceAll(page, "~~~", "```"))
	require.NoError(t, err)
	s.Dir, s.Scratch, s.Env = t.TempDir(), t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	err = s.Run(t.Context(), steps, func(_ Step, r Result) { printed = append(printed, r.Output) })
	return s.Dir, printed, err
}

func TestStepsShareAShell(t *testing.T) {
	dir, printed, err := play(t, Shell{Edit: strings.NewReplacer("two", "three")}, `
~~~sh
mkdir sub && cd sub
A=one
cat > f <<'END'
$A
END
~~~
<!-- given: B=given -->
~~~sh
cat f; echo $A $B two
~~~
<!-- output -->
~~~text
...
one given two
~~~
<!-- not run: it would fail -->
~~~sh
false
~~~
~~~sh
echo end >&2
~~~
`)
	require.NoError(t, err)
	require.Equal(t, []string{"", "$A\none given three\n", "", "end\n"}, printed)
	require.FileExists(t, filepath.Join(dir, "sub", "f"))
}

func TestThePageEndsWhereItFails(t *testing.T) {
	for page, want := range map[string]string{
		"~~~sh\necho\n~~~\n~~~sh\necho x\nfalse\necho y\n~~~\n~~~sh\necho z\n~~~":                    "line 4: exit status 1",
		"~~~sh\necho\n~~~\n~~~sh\necho x\nfalse\n~~~\n<!-- output -->\n~~~text\ny\n~~~":              "line 4: exit status 1",
		"~~~sh\necho\n~~~\n~~~sh\necho x\nexit\n~~~\n~~~sh\necho z\n~~~":                             "line 4: the shell has exited",
		"~~~sh\necho\n~~~\n~~~sh\necho x\n~~~\n<!-- output -->\n~~~text\ny\n~~~\n~~~sh\necho z\n~~~": "line 4: what line 8 says is not what it printed: these lines are not there:\ny",
	} {
		_, printed, err := play(t, Shell{}, page)
		require.EqualError(t, err, want)
		require.Equal(t, []string{"\n", "x\n"}, printed)
	}
	_, _, err := play(t, Shell{}, "~~~sh\necho $HEADRACE_OF_NOBODY\n~~~")
	require.Error(t, err)
	_, printed, err := play(t, Shell{}, "\n\n~~~sh\necho x\nno-such-command\n~~~")
	require.EqualError(t, err, "line 3: exit status 127")
	require.Regexp(t, `\D5: .*no-such-command: `, printed[0], "the line of the page is named")
}

func TestAStepTakesTooLong(t *testing.T) {
	_, printed, err := play(t, Shell{Timeout: time.Millisecond}, "~~~sh\nsleep 1000\n~~~")
	require.EqualError(t, err, "line 1: not done after 1ms")
	require.Len(t, printed, 1)
}

// What goes on in the background is waited for, and ended.
func TestWhatGoesOnIsEnded(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, printed, err := play(t, Shell{Edit: strings.NewReplacer("127.0.0.1:8080", l.Addr().String())}, `
~~~sh
sleep 1000 && echo 127.0.0.1:8080 &
echo $!
~~~
<!-- given: : 127.0.0.1:8080 & NEXT=next -->
~~~sh
echo $NEXT
~~~
`)
	require.NoError(t, err)
	require.Equal(t, "next\n", printed[1])
	pid, err := strconv.Atoi(strings.TrimSpace(printed[0]))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
}

// gone reports whether a process has ended, even if it has not been reaped.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestAServerIsWaitedFor(t *testing.T) {
	address, err := listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	dir := t.TempDir()
	var late sync.WaitGroup
	late.Go(func() {
		assert.Eventually(t, func() bool { return exists(filepath.Join(dir, "started")) }, time.Minute, 10*time.Millisecond)
		assert.NoError(t, os.WriteFile(filepath.Join(dir, "listens"), nil, 0o600))
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if assert.NoError(t, err) {
			conn, err := l.Accept()
			assert.NoError(t, err)
			assert.NoError(t, conn.Close())
			assert.NoError(t, l.Close())
		}
	})
	_, printed, err := play(t, Shell{Edit: strings.NewReplacer("127.0.0.1:8080", address, "DIR", dir)}, `
<!-- given: touch DIR/started; : 127.0.0.1:8080 & cat DIR/listens -->
~~~sh
cat DIR/listens
no-such-command
~~~
`)
	require.EqualError(t, err, "line 3: exit status 127")
	require.Regexp(t, `^\S*:?.*\b5: .*no-such-command: .*\n$`, printed[0])
	late.Wait()
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func TestNothingListens(t *testing.T) {
	address, err := listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	require.EqualError(t, listening(ctx, address), "nothing listens at "+address+": enough")
}

func TestFreePorts(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	taken := l.Addr().String()
	free, err := listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	page := taken + "/ " + free + "/ " + taken
	for _, all := range []bool{false, true} {
		edit, err := FreePorts(t.Context(), page, all)
		require.NoError(t, err)
		assert.NotContains(t, edit.Replace(page), taken)
		assert.Equal(t, all, !strings.Contains(edit.Replace(page), free))
	}
}
