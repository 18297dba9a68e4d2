package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
			assert.Equal(t, c.failed, list(b.failed))
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

func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"nothing failed":         {[]string{"pass @p TestA", "pass @p -"}, ""},
		"a test":                 {[]string{"fail @p TestA", "fail @p -"}, "p TestA"},
		"its parts are one test": {[]string{"fail @p TestA/x", "fail @p TestA/y", "fail @p TestA", "fail @p -"}, "p TestA"},
		"a few": {
			[]string{"fail @q TestB", "fail @p TestB", "fail @p TestA", "fail @p -", "fail @q -"}, "p TestA, p TestB, q TestB",
		},
		"many":        {[]string{"fail @p TestA", "fail @p TestB", "fail @p TestC", "fail @p TestD", "fail @p -"}, ""},
		"a leak":      {[]string{"fail @p TestA", "fail @p -", "fail @q -"}, ""},
		"a data race": {[]string{"output @p TestA WARNING: DATA RACE", "fail @p TestA", "fail @p -"}, ""},
		"a panic":     {[]string{"output @p TestA panic: no", "fail @p TestA", "fail @p -"}, ""},
		"a panic that is quoted": {
			[]string{"output @p TestA     x_test.go:1: panic: no", "fail @p TestA", "fail @p -"}, "p TestA",
		},
		"two maps": {[]string{"output @p TestA fatal error: concurrent map writes", "fail @p TestA", "fail @p -"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &board{}
			play(b, c.events...)
			assert.Equal(t, c.want, list(b.again()))
		})
	}
}

// by is a module whose test fails as often as a file has letters. If another test leaks, its TestMain finds that, as
// goleak does, where no test has failed.
const by = `package m

import (
	"os"
	"testing"
)

var leaks = false

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && leaks {
		code = 1
	}
	os.Exit(code)
}

func TestA(t *testing.T) {
	if left, _ := os.ReadFile("failures"); len(left) > 0 {
		_ = os.WriteFile("failures", left[1:], 0o600)
		t.Fatal("by chance")
	}
}
`

// The flags of a test are repeated too.
func TestAgainWithFlags(t *testing.T) {
	assert.Equal(t, []string{"go", "test", "-timeout", "20m", "-run=^TestA$", "m/a", "-fast=none"},
		only([]string{"go", "test", "-timeout", "20m", "./a", "-fast=none"}, "-run=^TestA$", "m/a"))
	assert.Equal(t, []string{"go", "test", "-race", "-count=1", "m/a"},
		only([]string{"go", "test", "-race", "./a", "./b"}, "-count=1", "m/a"))
	assert.Equal(t, []string{"go", "test", "-count=1", "m/a"}, only([]string{"go", "test", "work"}, "-count=1", "m/a"))
}

func TestAgain(t *testing.T) {
	for name, c := range map[string]struct {
		failures, other string
		status          int
		last            string
	}{
		"nothing fails": {status: 0, last: "== it: passed in "},
		"once":          {failures: "x", status: 0, last: "== it: passed, but UNSTABLE (failed once, then passed 5 times alone): m TestA\n"},
		"twice":         {failures: "xx", status: 1, last: "== again, m TestA: FAILED after "},
		"once, and its package leaks": {
			failures: "x", other: "func TestB(*testing.T) { leaks = true }\n", status: 1, last: "== again, m: FAILED after ",
		},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "failures": c.failures, "a_test.go": by + c.other} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		t.Chdir(dir)
		t.Setenv("GOWORK", "off")
		var out bytes.Buffer
		assert.Equal(t, c.status, runAgain(&out, "it", []string{"go", "test", "-count=1", "./..."}), name)
		lines := slices.Collect(strings.Lines(out.String()))
		assert.Contains(t, lines[len(lines)-1], c.last, name)
	}
}
