package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// said is what go test -json prints: "action test output", one for each line.
func said(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		action, rest, _ := strings.Cut(l, " ")
		test, output, _ := strings.Cut(rest, " ")
		text, err := json.Marshal(event{Action: action, Package: "p", Test: test, Output: output})
		require.NoError(t, err)
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestCountsAreSummed(t *testing.T) {
	o, err := read(strings.NewReader(said(
		t,
		"output TestA     a_test.go:7: scorecard: row=5 kills=3 lost=0 late_ms=70",
		"output TestA     a_test.go:7: scorecard: row=5 kills=4 lost=1 late_ms=30",
		"output TestA     a_test.go:7: scorecard: row=6 kills=100",
		"output TestA     b_test.go:9: [rapid] OK, passed 250 tests (1.2s)",
		"pass TestA/part ",
		"pass TestA ",
		"output FuzzB fuzz: elapsed: 3s, execs: 100 (33/sec), new interesting: 0 (total: 1)",
		"output FuzzB fuzz: elapsed: 6s, execs: 300 (33/sec), new interesting: 0 (total: 1)",
		"pass FuzzB ",
	)), 5)
	require.NoError(t, err)
	assert.Equal(t, counts{"kills": 7, "lost": 1, "late_ms": 70, "checks": 250, "cases": 1, "execs": 300, "tests": 2}, o.counts)
	assert.Empty(t, o.failed)
}

func TestALineThatIsAlmostRightIsAnError(t *testing.T) {
	for _, line := range []string{
		"scorecard: row=5", "scorecard: kills=3", "scorecard: row=5 kills=", "scorecard: row=5 kills=-1", "scorecard: row=5 kills=3.5",
		"scorecard: row=5  kills=3", "scorecard: row=5 kills=3 and more", "scorecard: row=5 tests=9", "scorecard: row=5 checks=9",
		"scorecard: row=5 kills=99999999999999999999",
	} {
		_, err := read(strings.NewReader(said(t, "output TestA     a_test.go:7: "+line, "pass TestA ")), 5)
		assert.Error(t, err, line)
	}
}

func TestHowATestEnds(t *testing.T) {
	o, err := read(strings.NewReader(said(
		t,
		"output TestA     a_test.go:7: it needs a server",
		"skip TestA ",
		"output TestB === RUN TestB",
		"output TestB     b_test.go:8: 3 is not 4",
		"output TestB --- FAIL: TestB",
		"fail TestB ",
		"fail  ",
	)), 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"TestA"}, o.skipped)
	assert.Equal(t, "it needs a server", o.reason)
	assert.Equal(t, []string{"TestB"}, o.failed)
	assert.Equal(t, "b_test.go:8: 3 is not 4", o.headline())
	assert.Zero(t, o.counts["tests"])

	o, err = read(strings.NewReader(said(t, "build-output  x.go:1: undefined: y", "build-fail  ", "fail  ")+"FAIL p [build failed]\n"), 1)
	require.NoError(t, err)
	assert.True(t, o.broken)
	assert.Empty(t, o.failed)
	assert.Equal(t, "x.go:1: undefined: y", o.headline())

	o, err = read(strings.NewReader("go: downloading x v1.2.3\n"+said(t, "pass TestA ", "pass  ")), 1)
	require.NoError(t, err)
	assert.False(t, o.broken || o.ended, "go may say something of its own")
}

func TestClaims(t *testing.T) {
	found := counts{"kills": 10, "lost": 0}
	for claims, want := range map[string]string{
		"kills>=10 lost=0":   "",
		"kills<=10 kills=10": "",
		"kills>=11":          "kills=10, and not >=11",
		"kills<=9":           "kills=10, and not <=9",
		"lost=1":             "lost=0, and not =1",
		"duplicates=0":       "duplicates was not counted",
		"kills>10":           `scorecard: "kills>10" is not a claim such as lost=0`,
		"kills":              `scorecard: "kills" is not a claim such as lost=0`,
	} {
		assert.Equal(t, want, broken(claims, found), claims)
	}
}
