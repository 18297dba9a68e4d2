package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/chart"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

var update = flag.Bool("update", false, "write the golden files anew")

// short is a film of two minutes with a limit that halves after the first.
func short(processes int) *chart.Film {
	f := &chart.Film{
		Title: "a rate & its half", About: "a <law>", Every: 5 * time.Second, Attempts: 900, Refused: 3,
		Rate: []scenario.Step{{Limit: 10}, {At: time.Minute, Limit: 5}}, Cap: []scenario.Step{{Limit: 24}},
	}
	for range processes {
		var t chart.Track
		for i := range 24 {
			pace := 9.7 + 0.1*float64(i%6)
			if i >= 12 {
				pace /= 2
			}
			if i == 0 {
				pace = 0
			}
			t.Pace = append(t.Pace, pace)
			t.Admitted = append(t.Admitted, int(5*pace))
			t.InFlight = append(t.InFlight, int(pace)+i%3)
			t.Window = append(t.Window, 20+2*float64(i%2))
			t.Refused = append(t.Refused, map[int]int{3: 5, 12: 60}[i])
		}
		f.Tracks = append(f.Tracks, t)
	}
	return f
}

func svg(t *testing.T, f *chart.Film) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, f.SVG(&out))
	return out.String()
}

func TestThePictureOfAFilmStaysWhatItIs(t *testing.T) {
	four := short(4) // without a cap, quieter, and with one pace far above the limit
	four.Cap = nil
	for i := range four.Tracks {
		four.Tracks[i].Refused[12] = 1
		four.Tracks[i].Pace[2] = 9 * float64(i)
	}
	for name, f := range map[string]*chart.Film{"one.svg": short(1), "four.svg": four} {
		golden := filepath.Join("testdata", name)
		got := svg(t, f)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, "go test ./internal/simulate/chart -update, if that is meant")
	}
}

func TestEveryPictureIsWellFormed(t *testing.T) {
	capped, empty := short(1), &chart.Film{Every: time.Second}
	capped.Rate = nil
	for name, f := range map[string]*chart.Film{"one": short(1), "four": short(4), "no rate": capped, "empty": empty} {
		picture := svg(t, f)
		d := xml.NewDecoder(strings.NewReader(picture))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
		}
		assert.NotContains(t, picture, "NaN", name)
		assert.NotContains(t, picture, "Inf", name)
	}
}

func TestWhatAPictureSays(t *testing.T) {
	one := svg(t, short(1))
	for _, want := range []string{
		"a rate &amp; its half", "a &lt;law&gt;", "admitted, calls per second", "what the provider allows",
		"learned pace, calls per second", "the provider&#39;s cap", "3 of 900 attempts, 0.33 %", "minutes",
	} {
		assert.Contains(t, one, want)
	}
	four := svg(t, short(4))
	assert.Contains(t, four, "the pace of each of 4 processes")
	assert.Equal(t, 1, strings.Count(one, `<path class="pace"`))
	assert.Equal(t, 4, strings.Count(four, `<path class="pace"`))

	unpaced := short(1)
	clear(unpaced.Tracks[0].Pace)
	assert.Contains(t, svg(t, unpaced), "none was learned")
	assert.NotContains(t, svg(t, unpaced), `<path class="pace"`)

	wide := short(1)
	wide.Cap, wide.Tracks[0].Window[5] = nil, 200
	assert.Contains(t, svg(t, wide), "the window, cut off at the top")
}

// The panels of a picture stand on nothing: GitHub shows them on a page that is
// white or nearly black, whatever the reader's system prefers.
func TestEveryColourIsLegibleOnLightAndDark(t *testing.T) {
	picture := svg(t, short(1))
	for _, use := range []struct {
		property string
		contrast float64 // of WCAG 2.1: graphics need 3, text is given more
	}{{"stroke", 3}, {"fill", 3.5}} {
		colours := regexp.MustCompile(use.property+`:(#[0-9a-f]{6})`).FindAllStringSubmatch(picture, -1)
		require.NotEmpty(t, colours)
		for _, c := range colours {
			assert.GreaterOrEqual(t, contrast(t, c[1], "#ffffff"), use.contrast, c[1])
			assert.GreaterOrEqual(t, contrast(t, c[1], "#0d1117"), use.contrast, c[1])
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) (l float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

func TestTheSameRunMakesTheSameBytes(t *testing.T) {
	var pictures [2][]byte
	for i := range pictures {
		path, err := chart.Draw(filepath.Join(t.TempDir(), "new"), &scenario.Twelve()[6], rival.All()[0])
		require.NoError(t, err)
		assert.Equal(t, "rate-2-x2-fixed-pool-32-sdk-retry.svg", filepath.Base(path))
		pictures[i], err = os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(pictures[i]), "seed 1<")
	}
	assert.Equal(t, pictures[0], pictures[1])
	assert.Less(t, len(pictures[0]), 60_000, "a page shows several of them")
}

func TestAFilmIsWhatTheRunWas(t *testing.T) {
	shared := scenario.Twelve()[9]
	f, err := chart.Record(&shared, rival.All()[0], 1, time.Minute)
	require.NoError(t, err)
	require.Len(t, f.Tracks, 4)
	results, err := client.Run(shared.Setting, rival.All()[0], 1, client.Watch{})
	require.NoError(t, err)
	attempts, refused, admitted, saw := 0, 0, 0, 0
	for i, r := range results {
		attempts += r.Cold.Attempts + r.Measured.Attempts
		require.Len(t, f.Tracks[i].Admitted, 22)
		for k := range 22 {
			admitted += f.Tracks[i].Admitted[k]
			saw += f.Tracks[i].Refused[k]
		}
		refused += r.Cold.Refused + r.Measured.Refused
	}
	assert.Equal(t, attempts, f.Attempts)
	assert.Equal(t, refused, f.Refused)
	assert.InEpsilon(t, refused*21/22, saw, 0.02)
	assert.InDelta(t, 600*21, admitted, 15, "the limit is kept in every minute but the last, which nobody looked at")
}

// two is a policy of two calls in flight that says so.
type two struct{ client.Policy }

func (two) Admit(_ time.Duration, _ *client.Call, inFlight int) time.Duration {
	if inFlight < 2 {
		return 0
	}
	return client.Forever
}
func (two) Slack(time.Duration)              {}
func (two) Sent(time.Duration, *client.Call) {}
func (two) Answered(time.Duration, *client.Call, int, *provider.Answer) (backoff time.Duration, keep bool) {
	return 0, false
}
func (two) Gauge() client.Gauge { return client.Gauge{Window: 2, Pace: 7} }

func TestAFilmShowsWhatThePolicyShows(t *testing.T) {
	c := client.Contender{Name: "two", New: func(client.Seat) (client.Policy, error) { return two{}, nil }}
	f, err := chart.Record(&scenario.Twelve()[0], c, 3, 10*time.Minute)
	require.NoError(t, err)
	assert.Equal(t, `two in the scenario "cap 20", seed 3`, f.About)
	assert.Equal(t, []int{0, 2, 2}, f.Tracks[0].InFlight)
	assert.Equal(t, []float64{2, 2, 2}, f.Tracks[0].Window)
	assert.Equal(t, []float64{7, 7, 7}, f.Tracks[0].Pace)
	assert.Equal(t, []scenario.Step{{Limit: 20}}, f.Cap)
	picture := svg(t, f)
	assert.Contains(t, picture, "what the cap comes to")
	assert.NotContains(t, picture, "what the provider allows")
	assert.Contains(t, picture, "mean of 600 s")
}

func TestALawThatCannotStart(t *testing.T) {
	broken := errors.New("broken")
	c := client.Contender{New: func(client.Seat) (client.Policy, error) { return nil, broken }}
	_, err := chart.Draw(t.TempDir(), &scenario.Twelve()[0], c)
	assert.ErrorIs(t, err, broken)
}

func TestNoTwoScenariosShareAFile(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range append(scenario.Twelve(), scenario.Beyond()...) {
		name := chart.FileName(s.Name)
		assert.False(t, seen[name], name)
		seen[name] = true
	}
}
