package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripted is a runner with a go command that prints output.
func scripted(output string, full bool) *runner {
	return &runner{out: io.Discard, root: root, full: full, command: func(context.Context, string, []string) ([]byte, error) { return []byte(output), nil }}
}

func TestVerdicts(t *testing.T) {
	counted := "output TestA     a_test.go:7: scorecard: row=5 kills=10 lost=0"
	for name, tc := range map[string]struct {
		said []string
		full bool
		want verdict
		why  string
	}{
		"passed":             {said: []string{counted, "pass TestA "}, want: passed},
		"a claim is broken":  {said: []string{"output TestA     a_test.go:7: scorecard: row=5 kills=9 lost=0", "pass TestA "}, want: failed, why: "kills=9, and not >=10"},
		"the line is absent": {said: []string{"pass TestA "}, want: failed, why: "kills was not counted"},
		"no test ran":        {said: []string{"output  testing: warning: no tests to run", "pass  "}, want: failed, why: "no test ran: go test -count=1"},
		"a test failed":      {said: []string{counted, "output TestA     a_test.go:9: oh", "fail TestA "}, want: failed, why: "TestA: a_test.go:9: oh"},
		"it does not build":  {said: []string{"build-output  x.go:1: oh", "build-fail  "}, want: failed, why: ": x.go:1: oh"},
		"skipped":            {said: []string{"output TestA     a_test.go:9: needs Redis", "skip TestA "}, want: skipped, why: "TestA: needs Redis"},
		"a part is skipped, and its counts are missing": {
			said: []string{"output TestA/x     a_test.go:9: needs Redis", "skip TestA/x ", "pass TestA "}, want: skipped, why: "TestA/x: needs Redis",
		},
		"a part does not apply": {
			said: []string{counted, "output TestA/x     a_test.go:9: not for this store", "skip TestA/x ", "pass TestA "}, want: passed,
		},
		"skipped for a release": {
			said: []string{"output TestA     a_test.go:9: needs Redis", "skip TestA "}, full: true, want: failed,
			why: "skipped before a release: TestA: needs Redis",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := scripted(said(t, tc.said...), tc.full)
			w := row{id: 5, runs: []run{{packages: "./a", claims: "kills>=10 lost=0"}}}
			res := r.row(t.Context(), &w)
			assert.Equal(t, tc.want, res.Verdict)
			assert.Contains(t, res.Why, tc.why)
			assert.Len(t, res.Commands, 1)
		})
	}
}

// Whole packages have tests that do not suit every flag: they are counted.
func TestWholePackagesMaySkipTests(t *testing.T) {
	r := scripted(said(t, "pass TestA ", "output TestB     b_test.go:9: not with -race", "skip TestB "), true)
	w := row{id: 14, runs: []run{{packages: "./a", claims: "tests>=1", whole: true}}}
	res := r.row(t.Context(), &w)
	assert.Equal(t, passed, res.Verdict, res.Why)
	assert.Equal(t, counts{"tests": 1, "skipped": 1}, res.Counts)
}

func TestARowThatNeedsServersIsSkippedWithoutThem(t *testing.T) {
	r := scripted("", false)
	w := row{id: 22, servers: true, runs: []run{{packages: "./a"}}}
	assert.Equal(t, skipped, r.row(t.Context(), &w).Verdict)
}

// A row that an interrupt has left is not passed, nor is one that it has ended.
func TestAnInterruptProvesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := scripted(said(t, "pass TestA "), false)
	r.command = func(context.Context, string, []string) ([]byte, error) {
		cancel()
		return []byte(said(t, "pass TestA ")), nil
	}
	w := row{id: 5, runs: []run{{packages: "./a", claims: "tests=1"}}}
	for range 2 {
		res := r.row(ctx, &w)
		assert.Equal(t, skipped, res.Verdict)
		assert.Equal(t, "interrupted", res.Why)
	}
}

// A mutant of a row counts as caught only by a test that says what was expected.
func TestWhenAMutantIsCaught(t *testing.T) {
	m := mutant{by: "too many|too early"}
	by, why := m.caught(outcome{failed: []string{"TestA"}, failure: []string{"=== RUN", "  3 too many "}})
	assert.Equal(t, "TestA: 3 too many", by)
	assert.Empty(t, why)
	for _, o := range []outcome{
		{counts: counts{"tests": 3}},
		{broken: true, failed: []string{"TestA"}, failure: []string{"too many arguments"}},
		{failed: []string{"TestA"}, failure: []string{"panic: nil"}},
	} {
		by, why := m.caught(o)
		assert.Empty(t, by)
		assert.NotEmpty(t, why)
	}
}

const tested = `package x

import "testing"

func TestDouble(t *testing.T) {
	n := Double(2)
	if n != 4 {
		t.Fatalf("%d and not 4", n)
	}
	t.Logf("scorecard: row=1 doubled=%d", n)
}
`

// With the go command: a fault is in the code that is tested, and not in the tree; one that is not noticed, is noticed
// otherwise, or does not compile fails the row.
func TestMutantsOfAModule(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module x\n\ngo 1.26\n", "x_test.go": tested,
		"x.go": "package x\n\n// Double doubles.\nfunc Double(n int) int { return 2*n + 0*n }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	proof := run{packages: ".", claims: "doubled=4 tests=1"}
	play := func(m mutant) (result, string) {
		var out bytes.Buffer
		r := runner{out: &out, root: dir, command: goTest}
		m.name, m.file, m.run = "fault", "x.go", proof
		w := row{id: 1, runs: []run{proof}, mutants: []mutant{m}}
		return r.row(t.Context(), &w), out.String()
	}
	res, out := play(mutant{old: "2*n", new: "3*n", by: "and not 4"})
	assert.Equal(t, passed, res.Verdict, out)
	assert.Contains(t, out, "mutant caught: fault: TestDouble: x_test.go:8: 6 and not 4")
	for why, m := range map[string]mutant{
		"no test failed":                     {old: "0*n", new: "n-n", by: "and not 4"},
		"it does not compile":                {old: "2*n", new: "2*m", by: "undefined"},
		"the text to replace is 0 times":     {old: "5*n", new: "n", by: "and not 4"},
		`TestDouble failed, but not with "9`: {old: "2*n", new: "3*n", by: "9 and not 4"},
	} {
		res, out := play(m)
		assert.Equal(t, failed, res.Verdict, out)
		assert.Contains(t, res.Why, why)
		assert.Contains(t, out, "mutant NOT caught: fault")
	}
	text, err := os.ReadFile(filepath.Join(dir, "x.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "2*n + 0*n")
}

// A judge that imports what it judges fails its row.
func TestJudgesAreApart(t *testing.T) {
	r := scripted("", false)
	assert.Empty(t, r.mixed(t.Context(), []string{"internal/oracle: throttle internal/meter"}))
	assert.Contains(t, r.mixed(t.Context(), []string{"throttle: quota internal/meter"}), "throttle, which judges, shares code with internal/meter")
	assert.NotEmpty(t, r.mixed(t.Context(), []string{"internal/nothing: throttle"}))
	all := rows()
	assert.True(t, slices.ContainsFunc(all, func(w row) bool { return len(w.apart) > 0 }))
}
