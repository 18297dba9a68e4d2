package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// slowOnes is where three random providers in a row admit little, so that they are quickly played.
const slowOnes = 39

func written(t *testing.T, p report.Plan) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	return out.String()
}

func TestTables(t *testing.T) {
	table := report.Table{Head: []string{"name", "n"}, Rows: [][]string{{"größer", "1"}, {"a", "23"}}}
	var markdown, plain bytes.Buffer
	require.NoError(t, table.Markdown(&markdown))
	require.NoError(t, table.Plain(&plain))
	assert.Equal(t, "| name   | n  |\n| ------ | -- |\n| größer | 1  |\n| a      | 23 |\n\n", markdown.String())
	assert.Equal(t, "name    n\ngrößer  1\na       23\n\n", plain.String())
}

// The order in which worlds are played, and the number of processors, do not matter.
func TestTheSameWorldsGiveTheSameFigures(t *testing.T) {
	play := func(offset int) *report.Grid {
		g, err := report.Play(report.Randoms(offset, 2), rival.All()[3:4], 2)
		require.NoError(t, err)
		g.Contenders = nil // functions do not compare
		return g
	}
	first := play(slowOnes)
	assert.NotEqual(t, first, play(slowOnes+1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, first, play(slowOnes))
}

func TestAWholePage(t *testing.T) {
	page := written(t, report.Plan{Seeds: 1, Offset: slowOnes, N: 2, Only: "Vegas", Scenario: "random,cap", Show: 1})
	for _, want := range []string{
		"The twelve", "| cap /2 x2 ", "Cold start", "Beyond the twelve", "| cap unnamed ",
		fmt.Sprintf("## Random providers: 2 from #%d on", slowOnes), "| Netflix Vegas | goodput  |",
	} {
		assert.Contains(t, page, want)
	}
}

func TestAPlanNamesWhatItWants(t *testing.T) {
	page := written(t, report.Plan{Seeds: 1, N: 3, Only: "vegas", Scenario: "cap 20,flap,#7,#x"})
	for _, want := range []string{"| cap 20 ", "| flap ", "| #7 ", "Netflix Vegas", "## Cold start"} {
		assert.Contains(t, page, want)
	}
	for _, not := range []string{"600/min", "AIMD", "Random providers", "Targets"} {
		assert.NotContains(t, page, not)
	}
	page = written(t, report.Plan{Seeds: 1, Only: "Vegas", Scenario: "cap 20", ColdOnly: true})
	assert.NotContains(t, page, "The twelve")
	assert.Contains(t, page, "Cold start")
	assert.Empty(t, written(t, report.Plan{Only: "nobody", Scenario: "nothing"}))
}

// What refusals say changes what a law that listens gets, and no other.
func TestAPlanHasRefusalsNameTheirLimit(t *testing.T) {
	page := func(only string, names provider.Names) string {
		return written(t, report.Plan{Seeds: 1, Only: only, Scenario: "no Retry-After", ColdOnly: true, Names: names})
	}
	silent := page("blind", provider.CapByHeaders)
	assert.Equal(t, silent, page("blind", provider.Nothing))
	assert.NotEqual(t, silent, page("blind", provider.Everything))
	assert.Equal(t, page("Vegas", provider.CapByHeaders), page("Vegas", provider.Everything))
}

func TestWhatIsNotOurDoingIsToldApart(t *testing.T) {
	g, err := report.Play(named(scenario.Beyond(), "noise 2%"), rival.All()[1:2], 1)
	require.NoError(t, err)
	f := g.At(0, 0)
	assert.InDelta(t, 2, f.Refused-f.Own, 1.5)
	assert.Contains(t, g.Measured(nil).Rows[0][1], "(")
}

func named(all []scenario.Scenario, name string) []scenario.Scenario {
	for _, s := range all {
		if s.Name == name {
			return []scenario.Scenario{s}
		}
	}
	return nil
}

func TestALawThatCannotStart(t *testing.T) {
	broken := errors.New("broken")
	c := client.Contender{Name: "x", New: func(client.Seat) (client.Policy, error) { return nil, broken }}
	_, err := report.Play(scenario.Twelve()[:1], []client.Contender{c}, 2)
	assert.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "report: cap 20: ")
}

func TestBars(t *testing.T) {
	alone, shared, slow := scenario.Scenario{}, scenario.Scenario{}, scenario.Scenario{}
	shared.Processes = 2
	slow.Latency = 8 * time.Second
	good := report.Figures{Goodput: 98, Own: 0.5, Refused: 9, Jain: 0.85, Cold: 85}
	but := func(alter func(*report.Figures)) report.Figures {
		f := good
		alter(&f)
		return f
	}
	loud := but(func(f *report.Figures) { f.Own = 0.6 })
	less := but(func(f *report.Figures) { f.Goodput = 97.9 })
	for about, c := range map[string]struct {
		bar  report.Bar
		s    *scenario.Scenario
		who  string
		f    report.Figures
		want string
	}{
		"good":                    {report.TwelveBar, &alone, law.Headers, good, ""},
		"goodput":                 {report.TwelveBar, &alone, law.Headers, less, "goodput 97.9 < 98"},
		"blind may do with less":  {report.TwelveBar, &alone, law.Blind, less, ""},
		"429s":                    {report.TwelveBar, &alone, law.Headers, loud, "429s 0.60 > 0.5"},
		"more where it is shared": {report.TwelveBar, &shared, law.Headers, loud, ""},
		"and blind":               {report.TwelveBar, &alone, law.Blind, loud, ""},
		"but not more":            {report.TwelveBar, &alone, law.Blind, but(func(f *report.Figures) { f.Own = 1.6 }), "429s 1.60 > 1.5"},
		"beyond":                  {report.BeyondBar, &alone, law.Headers, but(func(f *report.Figures) { f.Goodput, f.Own = 95, 1.5 }), ""},
		"beyond, missed":          {report.BeyondBar, &alone, law.Headers, but(func(f *report.Figures) { f.Goodput, f.Own = 94, 2 }), "goodput 94.0 < 95, 429s 2.00 > 1.5"},
		"fairness":                {report.BeyondBar, &shared, law.Blind, but(func(f *report.Figures) { f.Jain = 0.84 }), "Jain 0.84 < 0.85"},
		"fairness to oneself":     {report.BeyondBar, &alone, law.Blind, but(func(f *report.Figures) { f.Jain = 0 }), ""},
		"first minute":            {report.FirstBar, &alone, law.Blind, but(func(f *report.Figures) { f.First = 94 }), "goodput 94.0 < 95"},
		"first minute, well":      {report.FirstBar, &alone, law.Blind, but(func(f *report.Figures) { f.First = 95 }), ""},
		"cold":                    {report.ColdBar, &alone, law.Blind, but(func(f *report.Figures) { f.Cold = 84 }), "goodput 84.0 < 85"},
		"cold and slow":           {report.ColdBar, &slow, law.Blind, but(func(f *report.Figures) { f.Cold = 75 }), ""},
		"cold, slow and too low":  {report.ColdBar, &slow, law.Blind, but(func(f *report.Figures) { f.Cold = 74 }), "goodput 74.0 < 75"},
		"nobody asks of rivals":   {report.TwelveBar, &alone, "Vegas", report.Figures{}, ""},
		"nor of them when cold":   {report.ColdBar, &alone, "Vegas", report.Figures{}, ""},
	} {
		assert.Equal(t, c.want, c.bar(c.s, c.who, c.f), about)
	}
}

// asleep is a policy that never sends: it misses every target but that of the 429s.
type asleep struct{ client.Policy }

func (asleep) Admit(time.Duration, *client.Call, int) time.Duration { return client.Forever }

func TestMarks(t *testing.T) {
	still := client.Contender{Name: law.Headers, New: func(client.Seat) (client.Policy, error) { return asleep{}, nil }}
	g, err := report.Play(scenario.Twelve()[:1], []client.Contender{still}, 1)
	require.NoError(t, err)
	var m report.Marks
	m.Grid("twelve", g, report.TwelveBar)
	m.Grid("anything", g, func(*scenario.Scenario, string, report.Figures) string { return "" })
	m.Sweep("random", g, report.RandomReach())
	assert.Equal(t, [][]string{
		{"twelve", law.Headers, "missed", "cap 20: goodput 0.0 < 98"},
		{"anything", law.Headers, "met", ""},
		{"random: goodput min", law.Headers, "missed", "goodput min 0.0 < 25"},
		{"random: goodput p5", law.Headers, "missed", "goodput p5 0.0 < 96"},
		{"random: first minute p5", law.Headers, "missed", "first minute p5 0.0 < 80"},
		{"random: first minute median", law.Headers, "missed", "first minute median 0.0 < 95"},
		{"random: 429s median", law.Headers, "met", ""},
	}, m.Table().Rows)
	assert.Contains(t, g.Measured(report.TwelveBar).Rows[0][1], "!")
}

// Clients that know the limits are judged by what is asked without headers.
func TestMarksOfWhatCanBeReached(t *testing.T) {
	still := client.Contender{Name: rival.Knowing()[0].Name, New: func(client.Seat) (client.Policy, error) { return asleep{}, nil }}
	g, err := report.Play(scenario.Twelve()[:1], []client.Contender{still}, 1)
	require.NoError(t, err)
	var m report.Marks
	m.Sweep("harsher", g, report.HarsherReach())
	assert.Equal(t, [][]string{
		{"harsher: goodput p5", still.Name, "missed", "goodput p5 0.0 < 60"},
		{"harsher: 429s p95", still.Name, "met", ""},
	}, m.Table().Rows)
}

func TestTrace(t *testing.T) {
	var out bytes.Buffer
	p := report.Plan{Only: "fixed pool", Scenario: "cap 20"}
	require.NoError(t, p.Trace(&out, time.Minute))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 1+22)
	fields := strings.Split(lines[3], "\t")
	require.Len(t, fields, len(strings.Split(lines[0], "\t")))
	assert.Equal(t, []string{"cap 20", "fixed pool 32 + SDK retry", "120.000", "0"}, fields[:4])
	var admitted int
	_, err := fmt.Sscan(fields[5], &admitted)
	require.NoError(t, err)
	assert.InDelta(t, 1160, admitted, 60, "in one minute, not since the beginning")
}

func TestAblations(t *testing.T) {
	page := written(t, report.Plan{Seeds: 2, Offset: slowOnes, N: 1, Only: "headrace AIMD", Scenario: "cap", Ablate: true})
	assert.Contains(t, page, "| policy        | twelve and beyond | cold start ")
	assert.Contains(t, page, "| headrace AIMD |")
	assert.Contains(t, page, "over 2 seeds of each scenario with a name, 1 random and 0 harsher providers from #39 on")
}

// A law is compared with the whole law in the same worlds.
func TestARuleIsWorthWhatLeavingItOutCosts(t *testing.T) {
	page := written(t, report.Plan{Seeds: 2, Only: "headrace blind", Scenario: "600/min b10", Ablate: true})
	var lines []string
	for line := range strings.SplitSeq(page, "\n") {
		for _, name := range []string{"blind  ", "blind -measure ", "blind -mirror "} {
			if strings.HasPrefix(line, "| headrace "+name) {
				lines = append(lines, line)
			}
		}
	}
	require.Len(t, lines, 3)
	assert.Regexp(t, `^\| headrace blind +\| 100\.0 / 0\.`, lines[0])
	assert.Regexp(t, `blind -measure +\| -\d`, lines[1])
	assert.Regexp(t, `blind -mirror +\| \(\+0\.00\) / \(\+0\.00\) `, lines[2], "a law without headers has no mirror")
}
