package goodput

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyAFullRunIsWorthAPage(t *testing.T) {
	full := Plan{Seeds: least, Simulated: least, Times: Full()}
	for about, c := range map[string]struct {
		change func(*Plan)
		full   bool
	}{
		"full":           {func(*Plan) {}, true},
		"more than that": {func(p *Plan) { p.Seeds++ }, true},
		"few seeds":      {func(p *Plan) { p.Seeds-- }, false},
		"no simulator":   {func(p *Plan) { p.Simulated = 0 }, false},
		"short":          {func(p *Plan) { p.Times.Measured -= time.Second }, false},
		"one scenario":   {func(p *Plan) { p.Scenario = "cap" }, false},
		"one contender":  {func(p *Plan) { p.Only = "blind" }, false},
	} {
		t.Run(about, func(t *testing.T) {
			p := full
			c.change(&p)
			assert.Equal(t, c.full, p.Full())
		})
	}
}

func TestAPlanThatCannotBe(t *testing.T) {
	for about, p := range map[string]Plan{
		"no time":       {},
		"half a second": {Times: Times{Measured: time.Second / 2}},
		"before time":   {Times: Times{WarmUp: -time.Second, Measured: time.Second}},
		"no scenario":   {Times: Full(), Scenario: "none such"},
		"no contender":  {Times: Full(), Only: "none such"},
	} {
		t.Run(about, func(t *testing.T) {
			_, err := p.Run(t.Context())
			require.Error(t, err)
		})
	}
}

// One second over real HTTP, to see that everything is wired up. What comes of
// it depends on the machine.
func TestAPlanOverHTTP(t *testing.T) {
	var progress bytes.Buffer
	p := Plan{Seeds: 2, AtOnce: 1, Simulated: 1, Times: Times{Measured: time.Second}, Scenario: "cap", Progress: &progress}
	r, err := p.Run(t.Context())
	require.NoError(t, err)
	assert.Len(t, r.cells, len(Contenders()))
	assert.Len(t, r.loads, 2)
	for _, c := range r.cells {
		for _, f := range c.real {
			assert.Positive(t, f.Goodput, c.contender.Name)
		}
	}
	assert.Contains(t, progress.String(), "seeds 2 to 2 of 2")
}

// Half a run is worth nothing.
func TestARunThatIsInterrupted(t *testing.T) {
	errEnough := errors.New("enough")
	for about, simulated := range map[string]int{"in the simulator": 1, "over HTTP": 0} {
		t.Run(about, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errEnough)
			p := Plan{Seeds: 1, Simulated: simulated, Times: Full(), Scenario: "cap"}
			_, err := p.Run(ctx)
			require.ErrorIs(t, err, errEnough)
		})
	}
}

// result has every kind of cell.
func result() *Result {
	scenarios, contenders := Scenarios(), Contenders()
	all := func(goodput ...float64) (f []Figures) {
		for _, g := range goodput {
			f = append(f, Figures{Goodput: g, Refused: 1, Jain: 0.5})
		}
		return f
	}
	runs := func(goodput ...float64) (r []Run) {
		for _, f := range all(goodput...) {
			r = append(r, Run{Figures: f, First: Figures{Goodput: 90, Refused: 5}})
		}
		return r
	}
	return &Result{
		plan: Plan{Seeds: 2, Simulated: 2, Times: Full()},
		cells: []cell{
			{scenario: &scenarios[0], contender: &contenders[0], real: runs(99, 99), simulated: all(98, 98)},
			{scenario: &scenarios[0], contender: &contenders[1], real: runs(99, 99), simulated: all(50, 50)},
			{scenario: &scenarios[3], contender: &contenders[3], real: runs(80, 80)},
		},
		loads: []Load{{Known: true, Busy: 10, Own: 5, Late: time.Millisecond}, {Known: true, Busy: 30, Own: 20, Latest: 2 * time.Millisecond}},
	}
}

func TestThePage(t *testing.T) {
	var page bytes.Buffer
	r := result()
	require.NoError(t, r.Write(&page, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)))
	for _, want := range []string{
		"2026-11-21",
		"| token bucket | headrace blind | 99.0 ± 0.0 | 98.0 ± 0.0 | yes, -1.0 | 1.0 ± 0.0 | 1.0 ± 0.0 | 90.0 ± 0.0 | 5.0 ± 0.0 |",
		"|  | headrace headers | 99.0 ± 0.0 | 50.0 ± 0.0 | **no, -49.0** | 1.0 ± 0.0 | 1.0 ± 0.0 | 90.0 ± 0.0 | 5.0 ± 0.0 |",
		"| 4 processes | failsafe-go adaptive + retry | 80.0 ± 0.0 |  |  | 1.0 ± 0.0 |  | 90.0 ± 0.0 | 5.0 ± 0.0 |",
		"agrees in 1 of 2 cells",
		"failsafe-go adaptive + retry 0.50",
		"30 % busy, this process took 20 %",
	} {
		assert.Contains(t, page.String(), want)
	}
	assert.NotContains(t, page.String(), "distorted")
	assert.NotContains(t, page.String(), "\u2014")
}

func TestThePageSaysWhenTheMachineWasBusy(t *testing.T) {
	for about, c := range map[string]struct {
		loads []Load
		want  string
	}{
		"too busy": {[]Load{{Known: true, Busy: 61}}, "**That is more than 60 %"},
		"unknown":  {[]Load{{}}, "is unknown"},
	} {
		t.Run(about, func(t *testing.T) {
			var page bytes.Buffer
			r := result()
			r.loads = c.loads
			require.NoError(t, r.Write(&page, time.Now()))
			assert.Contains(t, page.String(), c.want)
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAPageThatCannotBeWritten(t *testing.T) {
	require.ErrorContains(t, result().Write(full{}, time.Now()), "disk full")
}
