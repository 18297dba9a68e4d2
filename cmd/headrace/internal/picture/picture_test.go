package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/picture"
	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/event"
)

// ledger is one of seconds of so many answers and refusals each, under one limit.
func ledger(limit float64, served, refused []int) provider.Ledger {
	l := provider.Ledger{Seconds: float64(len(served)), Series: &provider.Series{Every: 1, Served: served, Refused: refused}}
	for i := range served {
		l.Served += served[i]
		l.Refused += refused[i]
	}
	l.Arrivals, l.Possible = l.Served+l.Refused, limit*l.Seconds
	l.Limits = []provider.Phase{{Limit: fmt.Sprintf("%g/s", limit), Rate: limit, To: l.Seconds, Possible: l.Possible, Served: l.Served, Refused: l.Refused}}
	return l
}

type reporter interface {
	assert.TestingT
	FailNow()
}

func svg(t reporter, r *picture.Run) string {
	var out bytes.Buffer
	require.NoError(t, r.SVG(&out))
	return out.String()
}

type element struct {
	XMLName  xml.Name
	X        float64   `xml:"x,attr"`
	Y        float64   `xml:"y,attr"`
	W        float64   `xml:"width,attr"`
	H        float64   `xml:"height,attr"`
	Class    string    `xml:"class,attr"`
	Long     float64   `xml:"textLength,attr"`
	D        string    `xml:"d,attr"`
	Box      string    `xml:"viewBox,attr"`
	Turn     string    `xml:"transform,attr"`
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (e *element) text() string {
	var b strings.Builder
	b.WriteString(e.Text)
	for i := range e.Children {
		b.WriteString(e.Children[i].text())
	}
	return b.String()
}

// inFrame looks at each point of a picture, and returns its labels.
func inFrame(t reporter, drawn string) (labels []element) {
	var all element
	require.NoError(t, xml.Unmarshal([]byte(drawn), &all))
	var width, height float64
	_, err := fmt.Sscanf(all.Box, "0 0 %g %g", &width, &height)
	require.NoError(t, err)
	x := func(v float64, of any) { assert.True(t, v >= 0 && v <= width, "x = %v: %v", v, of) }
	y := func(v float64, of any) { assert.True(t, v >= 0 && v <= height, "y = %v: %v", v, of) }
	titles := 0
	for _, e := range all.Children {
		switch e.XMLName.Local {
		case "title", "desc":
			titles++
			assert.NotEmpty(t, e.Text)
		case "metadata", "style":
		case "rect":
			x(e.X, e)
			y(e.Y, e)
			x(e.X+e.W, e)
			y(e.Y+e.H, e)
		case "text":
			long := e.Long
			if long == 0 { // of the widest fonts
				long = map[string]float64{"h": 14, "sum": 8.8}[e.Class]
				long = max(long, 7.3) * float64(utf8.RuneCountInString(e.text()))
			}
			switch {
			case e.Turn != "":
			case e.Class == "m":
				x(e.X-long/2, e.text())
				x(e.X+long/2, e.text())
			case e.Class == "r":
				x(e.X-long, e.text())
				assert.True(t, e.X > 100 || e.X-long > 34, "%q is over the name of its axis", e.Text)
			case strings.HasPrefix(e.Class, "l ") || e.Class == "k-answer":
				labels = append(labels, e)
				x(e.X+picture.Letter*float64(len(e.Text)), e.Text)
			default:
				x(e.X+long, e.text())
			}
			x(e.X, e)
			y(e.Y-13, e)
			y(e.Y+4, e)
		case "path":
			points(t, e.D, x, y)
		default:
			assert.Fail(t, "an element that was not looked at", e.XMLName.Local)
		}
	}
	assert.Equal(t, 2, titles)
	return labels
}

// points takes a path apart, of which all is absolute.
func points(t reporter, d string, x, y func(float64, any)) {
	assert.Regexp(t, `^([MVHLZ][-\d. ]*)*$`, d)
	for _, m := range regexp.MustCompile(`([MVHL])([-\d.]+)(?: ([-\d.]+))?`).FindAllStringSubmatch(d, -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		if m[1] == "V" {
			y(v, d)
			continue
		}
		x(v, d)
		if m[1] != "H" {
			v, err = strconv.ParseFloat(m[3], 64)
			require.NoError(t, err)
			y(v, d)
		}
	}
}

// apart reports whether no label is written over another.
func apart(t assert.TestingT, labels []element) {
	for i, a := range labels {
		for _, b := range labels[:i] {
			meet := a.X < b.X+picture.Letter*float64(len(b.Text)) && b.X < a.X+picture.Letter*float64(len(a.Text)) && math.Abs(a.Y-b.Y) < 13
			assert.False(t, meet, "%q at %v, %v is over %q at %v, %v", a.Text, a.X, a.Y, b.Text, b.X, b.Y)
		}
	}
}

func TestPictures(t *testing.T) {
	for name, tc := range map[string]struct {
		run picture.Run
		has []string
		not []string
	}{
		"empty": {picture.Run{}, []string{"<tspan class=\"n\">0</tspan> of 0 requests lost"}, []string{"NaN", "Inf", "%!"}},
		"one second": {
			picture.Run{Requests: 5, Ledger: ledger(5, []int{5}, []int{0})},
			[]string{"hidden limit: 5/s", "100.0 %", ">answers<"},
			[]string{"(429)", "full bucket"},
		},
		"a burst": {picture.Run{Ledger: ledger(5, []int{10, 5, 5, 5}, []int{0, 0, 0, 0})}, []string{"a full bucket at first"}, nil},
		"huge": {
			picture.Run{Requests: 3_000_000, Ledger: ledger(1_250_000, []int{1_200_000, 1_250_000}, []int{40_000, 0})},
			[]string{"500k", "1M", "40,000 refused (429)", "of 3M requests lost"},
			nil,
		},
		"refusals only": {picture.Run{Ledger: ledger(4, []int{0, 0, 0}, []int{9, 900, 9})}, []string{"918 refused (429)", "0.0 %", ">4</text>"}, []string{">answers<", ">10</text>"}},
		"no limit": {picture.Run{Ledger: provider.Ledger{
			Seconds: 2, Limits: []provider.Phase{{Limit: "none", To: 2}}, Series: &provider.Series{Every: 1, Served: []int{3, 4}, Refused: []int{0, 0}},
		}}, nil, []string{"hidden limit", "possible"}},
		"no series":    {picture.Run{Ledger: provider.Ledger{Seconds: 3, Limits: []provider.Phase{{Limit: "7/s", Rate: 7, To: 3}}}}, []string{"hidden limit: 7/s"}, nil},
		"looked early": {picture.Run{At: 0, Display: []string{"d"}, Ledger: ledger(5, []int{5, 5}, []int{0, 0})}, []string{"the display at 0.0 s"}, nil},
		"looked late":  {picture.Run{At: 2.2, Display: []string{"d"}, Ledger: ledger(5, []int{5, 5}, []int{0, 0})}, []string{"the display at 2.2 s"}, nil},
		"odd text": {
			picture.Run{Command: "a <b> & \"c\"", Said: []string{strings.Repeat("long ", 50), "\x00\x1b[7mx"}, Told: []string{"", "</svg>"}},
			[]string{"a &lt;b&gt; &amp; &#34;c&#34;", "…"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := svg(t, &tc.run)
			apart(t, inFrame(t, got))
			for _, text := range tc.has {
				assert.Contains(t, got, text)
			}
			for _, text := range tc.not {
				assert.NotContains(t, got, text)
			}
		})
	}
}

// Whatever a provider tells, nothing is drawn outside of the frame, and no label over another.
func TestAllIsInTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{1, 9, 80, 2_000_000}).Draw(t, "most")
		s := &provider.Series{Every: rapid.SampledFrom([]float64{0.001, 0.25, 1, 64}).Draw(t, "every")}
		n := rapid.IntRange(0, 300).Draw(t, "parts")
		for range n {
			s.Served = append(s.Served, rapid.IntRange(0, most).Draw(t, "served"))
			refused := 0
			if rapid.IntRange(0, 9).Draw(t, "is refused") == 0 {
				refused = rapid.IntRange(0, 10*most).Draw(t, "refused")
			}
			s.Refused = append(s.Refused, refused)
		}
		l := provider.Ledger{Series: s, Seconds: max(0, float64(n)-rapid.Float64Range(0, 1).Draw(t, "less")) * s.Every}
		phases := rapid.IntRange(0, 40).Draw(t, "phases")
		for i := range phases {
			rate := rapid.IntRange(0, 2*most).Draw(t, "rate")
			l.Limits = append(l.Limits, provider.Phase{
				Limit: fmt.Sprintf("%d/s", rate), Rate: float64(rate),
				From: l.Seconds * float64(i) / float64(phases), To: l.Seconds * float64(i+1) / float64(phases),
			})
		}
		r := &picture.Run{Ledger: l, At: rapid.Float64Range(0, 500).Draw(t, "at"), Display: []string{"x"}}
		apart(t, inFrame(t, svg(t, r)))
	})
}

// Bars follow each other without a gap, and hold each call once.
func TestBars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &provider.Series{Every: rapid.SampledFrom([]float64{0.25, 1, 32}).Draw(t, "every")}
		n := rapid.IntRange(1, 1000).Draw(t, "parts")
		served, refused := 0.0, 0
		for i := range n {
			s.Served, s.Refused = append(s.Served, i%7), append(s.Refused, i%3)
			served, refused = served+float64(i%7), refused+i%3
		}
		l := &provider.Ledger{Series: s, Seconds: s.Every * (float64(n) - rapid.Float64Range(0, 1).Draw(t, "less"))}
		all := picture.Bars(l)
		assert.LessOrEqual(t, len(all), 76)
		to := 0.0
		for i, b := range all {
			assert.InDelta(t, to, b.From, 1e-9)
			assert.Greater(t, b.To, b.From)
			if i < len(all)-1 {
				assert.LessOrEqual(t, b.To, l.Seconds+1)
			}
			to = b.To
			served -= b.Answers * (b.To - b.From)
			refused -= b.Refused
			assert.InDelta(t, b.Refused, b.Refusals*(b.To-b.From), 1e-6)
		}
		assert.InDelta(t, max(l.Seconds, 1), to, s.Every+1)
		assert.InDelta(t, 0, served, 1e-6)
		assert.Zero(t, refused)
	})
}

// A bar is a rate: the last one too, which is shorter, and one that is too short is a part of the one before.
func TestTheLastBar(t *testing.T) {
	l := ledger(8, []int{8, 8, 4}, []int{0, 9, 0})
	l.Seconds = 2.5
	assert.Equal(t, []picture.Bar{{0, 1, 8, 0, 0}, {1, 2, 8, 9, 9}, {2, 2.5, 8, 0, 0}}, picture.Bars(&l))
	l.Series.Served[2], l.Seconds = 1, 2.125
	assert.Equal(t, []picture.Bar{{0, 1, 8, 0, 0}, {1, 2.125, 8, 8, 9}}, picture.Bars(&l))
}

func TestSpans(t *testing.T) {
	for line, want := range map[string][]picture.Span{
		"":          nil,
		"   ":       nil,
		"one":       {{0, "", "one"}},
		"  a b   c": {{2, "", "a b"}, {8, "", "c"}},
		"\x1b[1mx\x1b[0m  \x1b[32m█\x1b[0m\x1b[2m░\x1b[0m  y": {{0, " b", "x"}, {3, " green", "█"}, {4, " dim", "░"}, {7, "", "y"}},
		strings.Repeat("x", 96) + "yz":                        {{0, "", strings.Repeat("x", 96) + "…"}},
		strings.Repeat("x", 97):                               {{0, "", strings.Repeat("x", 97)}},
	} {
		assert.Equal(t, want, picture.Spans(line), line)
	}
}

// The still is what the display draws.
func TestStill(t *testing.T) {
	lines, err := picture.Still(event.Progress{
		Name: "requests.jsonl", Elapsed: 12 * time.Second, Items: event.Items{Total: 1200, Done: 600, Pending: 40, Rate: 50, Retries: 3},
		Limiters: []event.LimiterProgress{{Name: "provider", Live: true, Limit: 9, InFlight: 7, Waiting: 33, Hits: 5}},
	})
	require.NoError(t, err)
	text := strings.Join(lines, "\n")
	assert.Contains(t, text, "600/1,200")
	assert.Contains(t, text, "\x1b[32m█")
	assert.Contains(t, text, "7/9 in flight")
	assert.Len(t, lines, 3)
	assert.NotRegexp(t, `[\x00-\x09\x0b-\x1a]|\x1b\[[^m]*[^\dm]|\x1b[^\[]`, text, "nothing but colours")
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.2: "0.2", 950: "950", 1200: "1,200", 12345.5: "12,345.5", 1e6: "1M", 2.5e6: "2.5M"} {
		assert.Equal(t, want, picture.Number(v))
	}
}

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestThePictureCannotBeWritten(t *testing.T) {
	require.ErrorIs(t, (&picture.Run{}).SVG(full{}), errFull)
	require.Error(t, (&picture.Run{At: math.NaN()}).SVG(io.Discard))
}
