package htmlreport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// digest is a run that was refused twice, over its end.
func digest() *flow.Report {
	return &flow.Report{
		Action: "signed", Last: "sign", Elapsed: 5200 * time.Millisecond, Steps: 2,
		Nodes: map[string]flow.NodeReport{
			"ask":  {Runs: 1, Done: 98, Failed: 2, Resumed: 4, Retries: 5},
			"sign": {Runs: 1},
		},
		Limiters: map[string]flow.LimiterReport{"openai": {Hits: 3, Cuts: 1, Recoveries: 2, Closed: true}},
		Series: &flow.Series{
			Interval: time.Second, At: []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5200 * time.Millisecond},
			Nodes: map[string]flow.NodeSeries{"ask": {Done: []int64{4, 10, 30, 50, 80, 102}, Failed: []int64{0, 0, 1, 1, 1, 2}}},
			Limiters: map[string]flow.LimiterSeries{"openai": {
				Limit: []int{0, 8, 8, 4, 6, 6}, InFlight: []int{0, 8, 7, 4, 6, 0}, Waiting: []int{0, 8, 9, 12, 10, 0},
				Pace: []float64{0, 0, 0, 19.5, 0, 25}, Rate: []float64{0, 6, 20, 20, 30, 19}, Hits: []int64{0, 0, 2, 2, 3, 3},
			}},
		},
	}
}

func written(t interface {
	require.TestingT
	Helper()
}, title string, r *flow.Report,
) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, title, r))
	return b.String()
}

func TestPage(t *testing.T) {
	for name, r := range map[string]*flow.Report{"page": digest(), "page-bare": {Elapsed: time.Hour}} {
		text := written(t, "digest", r)
		path := "testdata/" + name + ".html"
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), text, "go test -update writes %s anew", path)
	}
}

func TestWhatWasReadBackIsTheSame(t *testing.T) {
	data, err := json.Marshal(digest())
	require.NoError(t, err)
	var back flow.Report
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, written(t, "digest", digest()), written(t, "digest", &back))
}

// Titles and names come from anywhere.
func TestForeignTextIsText(t *testing.T) {
	evil := `</title></svg><script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	r := digest()
	r.Last, r.Action = evil, "<b>"
	r.Nodes[evil], r.Limiters[evil] = flow.NodeReport{Runs: 1}, flow.LimiterReport{Hits: 1}
	r.Series.Nodes[evil], r.Series.Limiters[evil] = r.Series.Nodes["ask"], r.Series.Limiters["openai"]
	text := written(t, evil, r)
	for _, bad := range []string{"<script", "<img", `"'>`} {
		assert.NotContains(t, text, bad)
	}
	assert.Equal(t, 1, strings.Count(text, "</title></head>")+strings.Count(text, "</title>\n<style>"))
	assert.Contains(t, text, "&lt;script&gt;")
}

func TestThePageLoadsNothing(t *testing.T) {
	text := written(t, "digest", digest())
	for _, bad := range []string{"http:", "https:", "src=", "href=", "url(", "@import", "<script"} {
		assert.NotContains(t, text, bad)
	}
	assert.Contains(t, text, `content="default-src 'none'; style-src 'unsafe-inline'"`)
}

// Whatever is in the columns, what is drawn stays in the frame, and every point
// is a number.
func TestDrawingsStayInTheirFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "moments")
		at := make([]time.Duration, n)
		for i := range at {
			at[i] = time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "at"))
		}
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.MaxFloat64})), 0, 70)
		l := flow.LimiterSeries{
			Limit: rapid.SliceOf(rapid.Int()).Draw(t, "limit"), Waiting: rapid.SliceOf(rapid.Int()).Draw(t, "waiting"),
			Pace: values.Draw(t, "pace"), Rate: values.Draw(t, "rate"), Hits: rapid.SliceOf(rapid.Int64()).Draw(t, "hits"),
		}
		text := written(t, "x", &flow.Report{Series: &flow.Series{At: at, Limiters: map[string]flow.LimiterSeries{"x": l}}})
		for i, svg := range strings.Split(text, "<svg")[1:] {
			svg, _, _ = strings.Cut("<svg"+svg, "</svg>")
			inFrame(t, svg+"</svg>", i)
		}
	})
}

func inFrame(t require.TestingT, svg string, i int) {
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, "drawing %d", i)
		start, _ := token.(xml.StartElement)
		for _, a := range start.Attr {
			if a.Name.Local != "points" {
				continue
			}
			for point := range strings.FieldsSeq(a.Value) {
				x, y, _ := strings.Cut(point, ",")
				within(t, x, left, right)
				within(t, y, top, bottom)
			}
		}
	}
}

func within(t require.TestingT, text string, least, most float64) {
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	require.True(t, v >= least && v <= most, "%s is outside of %v to %v", text, least, most)
}

func TestErrors(t *testing.T) {
	var field *fault.FieldError
	require.ErrorAs(t, Write(io.Discard, "x", nil), &field)
	require.Equal(t, "r", field.Field)
	full := errors.New("the disk is full")
	require.ErrorIs(t, Write(failing{full}, "x", digest()), full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"12ms": 12_400 * time.Microsecond, "1.3s": 1260 * time.Millisecond, "1m35s": 94_700 * time.Millisecond, "2h0m0s": 2 * time.Hour,
	} {
		assert.Equal(t, want, span(d))
	}
}
