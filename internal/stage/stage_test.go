package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play has a board follow events: an action, a package (@ is ours), a test or -, and the output if there is any.
func play(b *board, events ...string) string {
	var out bytes.Buffer
	b.out, b.name = &out, "tests"
	lines, done := make(chan []byte), make(chan struct{})
	go func() {
		defer close(done)
		for _, e := range events {
			if seconds, wait := strings.CutPrefix(e, "wait "); wait {
				d, err := time.ParseDuration(seconds)
				if err != nil {
					panic(err)
				}
				time.Sleep(d)
				continue
			}
			part := strings.SplitN(e, " ", 4)
			if len(part) < 3 {
				lines <- []byte(e + "\n")
				continue
			}
			line := fmt.Sprintf(`{"Action":%q,"Package":%q`, part[0], strings.Replace(part[1], "@", ours, 1))
			if part[2] != "-" {
				line += fmt.Sprintf(`,"Test":%q`, part[2])
			}
			if len(part) > 3 {
				line += fmt.Sprintf(`,"Output":%q`, part[3]+"\n")
			}
			lines <- []byte(line + "}\n")
		}
	}()
	b.follow(lines, done)
	return out.String()
}

func TestASlowPackageHidesNoResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		out := play(b, "wait 15s", "start @slow -", "start @fast -", "output @fast - ok fast 1s", "pass @fast -", "wait 31s", "output @slow - ok slow 31s", "pass @slow -")
		assert.Equal(t, `   tests, 15s
ok fast 1s
   tests, 30s, 1 packages have ended; running: slow for 15s
   tests, 45s, 1 packages have ended; running: slow for 30s
ok slow 31s
`, out)
	})
}

func TestWhatFailedIsPrinted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string
		want   string
		failed string
	}{
		"a test": {
			[]string{
				"start @p -", "output @p TestA === RUN TestA", "output @p TestA good", "output @p TestB bad", "pass @p TestA", "fail @p TestB",
				"output @p - FAIL", "output @p - exit status 1", "fail @p -",
			}, "bad\nFAIL\nexit status 1\n", "p TestB",
		},
		"no test that ended": {
			[]string{"start @p -", "output @p TestA === RUN TestA", "output @p TestB panic: no", "output @p - FAIL", "fail @p -"}, "panic: no\nFAIL\n", "p",
		},
		"another package": {
			[]string{"output @p TestA its", "output @q - FAIL", "fail @q -", "pass @p TestA", "output @p - PASS", "output @p - ok p", "pass @p -"}, "FAIL\nok p\n", "q",
		},
		"a build":              {[]string{"build-output @p - undefined: x", "build-fail @p -", "output @p - FAIL p [build failed]", "fail @p -"}, "undefined: x\nFAIL p [build failed]\n", "p"},
		"what is not an event": {[]string{"go: downloading", `"text"`, "{}"}, "go: downloading\n\"text\"\n{}\n", ""},
		"nothing to test":      {[]string{"start @p -", "output @p - ? p [no test files]", "skip @p -"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &board{}
			assert.Equal(t, c.want, play(b, c.events...))
			assert.Equal(t, c.failed, strings.Join(b.failed, ", "))
			assert.Empty(t, b.running)
			assert.Empty(t, b.said)
		})
	}
	assert.Equal(t, "good\nPASS\n", play(&board{verbose: true}, "output @p TestA good", "pass @p TestA", "output @p - PASS", "pass @p -"), "-v")
}

func TestTheLastLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &board{out: &out, name: "tests", began: time.Now()}
	for i := range 6 {
		b.ended = append(b.ended, ended{fmt.Sprint("p", i), float64(i)})
	}
	b.end(true)
	assert.Equal(t, "== tests: passed in 0s; slowest: p5 5 s, p4 4 s, p3 3 s, p2 2 s, p1 1 s\n", out.String())
}

func TestRun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		script string
		status int
		want   string
	}{
		{"echo out; printf half", 0, "== it: [sh -c echo out; printf half]\nout\nhalf\n== it: passed in "},
		{"echo err >&2; exit 3", 3, "== it: [sh -c echo err >&2; exit 3]\nerr\n== it: FAILED after "},
		{"kill -9 $$", 1, "== it: [sh -c kill -9 $$]\n== it: FAILED after "},
	} {
		var out bytes.Buffer
		assert.Equal(t, c.status, run(&out, "it", []string{"sh", "-c", c.script}))
		assert.Regexp(t, `(?s)^\Q`+c.want+`\E\d`, out.String())
	}
	var out bytes.Buffer
	assert.Equal(t, 1, run(&out, "it", []string{"./nothing-here"}))
	require.Contains(t, out.String(), "nothing-here: no such file")
}
