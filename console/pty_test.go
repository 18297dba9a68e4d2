//go:build unix

package console

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// monitor is a terminal with a screen that can be looked at.
type monitor struct {
	master, tty *os.File
	vt          vt10x.Terminal
	wg          sync.WaitGroup
}

func plugged(t *testing.T, width, height int) *monitor {
	t.Helper()
	master, tty, err := pty.Open()
	require.NoError(t, err)
	m := &monitor{master: master, tty: tty, vt: vt10x.New(vt10x.WithSize(width, height))}
	m.resize(t, width, height)
	m.wg.Go(func() { _, _ = io.Copy(m.vt, master) })
	t.Cleanup(func() {
		_ = tty.Close()
		_ = master.Close()
		m.wg.Wait()
	})
	return m
}

func (m *monitor) resize(t *testing.T, width, height int) {
	t.Helper()
	m.vt.Resize(width, height)
	require.NoError(t, pty.Setsize(m.tty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}))
}

// print is what another program writes to the terminal.
func (m *monitor) print(text string) { _, _ = m.tty.WriteString(text) }

// lines are those of the screen, without what is empty at the end.
func (m *monitor) lines() []string {
	all := strings.Split(strings.TrimRight(m.vt.String(), "\n "), "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return all
}

// shows waits until the screen has exactly these lines.
func (m *monitor) shows(t *testing.T, want ...string) {
	t.Helper()
	ok := assert.Eventually(t, func() bool { return strings.Join(m.lines(), "\n") == strings.Join(want, "\n") }, time.Minute, 5*time.Millisecond)
	require.True(t, ok, "the screen is\n%s\nand not\n%s", strings.Join(m.lines(), "\n"), strings.Join(want, "\n"))
}

func TestOnATerminal(t *testing.T) {
	m := plugged(t, 80, 24)
	d := made(t, m.tty, Config{})
	require.Equal(t, TTY, d.Mode())
	m.print("before\r\n")
	d.Show(*hour())
	block := frame(view{Progress: hour()}, 80, 24, style{})
	m.shows(t, append([]string{"before"}, block...)...)
	assert.True(t, m.vt.CursorVisible())
	assert.Equal(t, 1+len(block), m.vt.Cursor().Y, "it stands below")
	assert.Zero(t, m.vt.Cursor().X)

	_, err := fmt.Fprintf(d.Writer(), "a log line that is %s\nanother\nhalf", strings.Repeat("long ", 20))
	require.NoError(t, err)
	long := "a log line that is " + strings.Repeat("long ", 20)
	above := []string{"before", long[:80], strings.TrimRight(long[80:], " "), "another"}
	m.shows(t, append(above, block...)...)

	m.resize(t, 120, 30)
	m.shows(t, append(above, frame(view{Progress: hour()}, 120, 30, style{})...)...)

	end := over()
	d.Show(*end)
	last := frame(view{Progress: end}, 120, 30, style{})
	m.shows(t, append(above, last...)...)
	require.NoError(t, d.Close())
	m.print("$ ")
	m.shows(t, append(append(above, last...), "half", "$")...)
}

func TestTheNextRunIsShownBelow(t *testing.T) {
	m := plugged(t, 80, 24)
	d := made(t, m.tty, Config{})
	end, next := over(), hour()
	d.Show(*end)
	next.Time = end.Time.Add(time.Second)
	d.Show(*next)
	m.shows(t, append(frame(view{Progress: end}, 80, 24, style{}), frame(view{Progress: next}, 80, 24, style{})...)...)
}

// A display that is as high as the screen scrolls what is above it, and itself not.
func TestOnALowTerminal(t *testing.T) {
	m := plugged(t, 100, 6)
	d := made(t, m.tty, Config{})
	for i := range 3 {
		_, err := fmt.Fprintf(d.Writer(), "line %d\n", i)
		require.NoError(t, err)
	}
	d.Show(*hour())
	block := frame(view{Progress: hour()}, 100, 6, style{})
	require.Len(t, block, 5)
	m.shows(t, block...)
	_, err := fmt.Fprint(d.Writer(), "line 3\n")
	require.NoError(t, err)
	m.shows(t, block...)
	require.NoError(t, d.Close())
}

func TestColoursOnATerminal(t *testing.T) {
	for _, no := range []string{"", "1"} {
		m := plugged(t, 80, 24)
		d, err := New(Config{Output: m.tty, LookupEnv: env(map[string]string{"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": no})})
		require.NoError(t, err)
		d.Show(*over())
		require.Eventually(t, func() bool { return strings.Contains(m.vt.String(), "finished") }, time.Minute, time.Millisecond)
		failed := m.vt.Cell(2, 1)
		assert.Equal(t, '3', failed.Char)
		assert.Equal(t, no == "", failed.FG == vt10x.Red)
		require.NoError(t, d.Close())
	}
}

func TestAHangUp(t *testing.T) {
	master, tty, err := pty.Open()
	require.NoError(t, err)
	defer func() { _ = tty.Close() }()
	d := made(t, tty, Config{})
	require.NoError(t, master.Close())
	d.Show(*over())
	require.Error(t, d.Close())
}

const childVariable = "CONSOLE_TEST_CHILD"

// child is another process: it shows something on its standard error, as told.
func child() {
	d, err := New(Config{})
	if err != nil {
		os.Exit(3)
	}
	interrupted := make(chan os.Signal, 1)
	p := busy()
	switch os.Getenv(childVariable) {
	case "panic":
		defer func() { _ = d.Close() }()
		d.Show(*p)
		_ = d.look(false)
		panic("as meant")
	case "interrupt":
		signal.Notify(interrupted, os.Interrupt)
		d.Show(*p)
		<-interrupted
	case "killed":
		d.Show(*p)
		_ = d.look(false)
		fmt.Println("shown")
		select {}
	default:
		d.Show(*p)
		d.Show(*over())
	}
	fmt.Println("the work is done:", d.Close() != nil)
}

func childOf(t *testing.T, how string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+how, "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1", "CI=")
	return c
}

// A closed standard error ends the display and not the program.
func TestStandardErrorIsAClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	c := childOf(t, "pipe")
	c.Stderr = w
	out, err := c.Output()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "the work is done: true\n", string(out))
}

// However the program ends, the terminal needs no repair.
func TestTheTerminalIsLeftInOrder(t *testing.T) {
	for how, want := range map[string]string{"": "finished in", "panic": "panic: as meant", "interrupt": "2m46s left", "killed": "2m46s left"} {
		t.Run("ended by "+how, func(t *testing.T) {
			m := plugged(t, 80, 60)
			c := childOf(t, how)
			if how == "" {
				c = childOf(t, "end")
			}
			c.Stderr = m.tty
			out, err := c.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			switch how {
			case "interrupt":
				require.Eventually(t, func() bool { return strings.Contains(m.vt.String(), "left") }, time.Minute, time.Millisecond)
				require.NoError(t, c.Process.Signal(syscall.SIGINT))
			case "killed":
				_, err := out.Read(make([]byte, 5))
				require.NoError(t, err)
				require.NoError(t, c.Process.Kill())
			}
			_, _ = io.ReadAll(out)
			_ = c.Wait()
			require.Eventually(t, func() bool { return strings.Contains(m.vt.String(), want) }, time.Minute, time.Millisecond, "%s", how)
			m.print("$ ")
			require.Eventually(t, func() bool { l := m.lines(); return l[len(l)-1] == "$" }, time.Minute, time.Millisecond)
			assert.True(t, m.vt.CursorVisible())
			assert.Equal(t, 1, strings.Count(m.vt.String(), "limiter summarise"), "one display")
			if how == "panic" {
				assert.Less(t, strings.Index(m.vt.String(), "digest  "), strings.Index(m.vt.String(), "panic: as meant"))
			}
		})
	}
}

// A terminal that moves no cursor shows plain lines, and breaks none within a word.
func TestPlainOnATerminal(t *testing.T) {
	m := plugged(t, 30, 24)
	d, err := New(Config{Output: m.tty, Mode: Plain})
	require.NoError(t, err)
	end := over()
	d.Show(*end)
	var want []string
	for _, line := range append(plainEnd(end), plainLine(end)) {
		require.Greater(t, len(line), 30)
		want = append(want, fold(line, 30)...)
	}
	m.shows(t, want...)
	require.NoError(t, d.Close())
}
