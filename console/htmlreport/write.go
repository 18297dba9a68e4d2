package htmlreport

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/internal/invalid"
)

//go:embed page.html
var page string

// Write writes the page of a report, which may be read from its JSON, to w. It has curves if
// the run had flow.WithSeries. Title and names are escaped. The error is that of w, or a
// *fault.FieldError if r is nil.
func Write(w io.Writer, title string, r *flow.Report) error {
	if r == nil {
		p := invalid.Problems{Owner: "htmlreport.Write"}
		p.Addf("r", "the report is nil: give it the one that flow.Run returned")
		return p.Err()
	}
	t, err := template.New("page").Funcs(template.FuncMap{"span": span}).Parse(page)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, contentOf(title, r)); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// content is what the page is made of.
type content struct {
	Title    string
	Report   *flow.Report
	Nodes    []string // sorted
	Limiters []string // sorted
	Sections []section
}

// section is what there is to see of one limiter or node.
type section struct {
	Title  string
	Charts []chart
}

func contentOf(title string, r *flow.Report) content {
	c := content{
		Title: title, Report: r,
		Nodes: slices.Sorted(maps.Keys(r.Nodes)), Limiters: slices.Sorted(maps.Keys(r.Limiters)),
	}
	if r.Series == nil || len(r.Series.At) == 0 {
		return c
	}
	at := r.Series.At
	for _, name := range slices.Sorted(maps.Keys(r.Series.Limiters)) {
		l := r.Series.Limiters[name]
		refused := news(l.Hits)
		c.Sections = append(c.Sections, section{"Limiter " + name, []chart{
			plot("calls", at, refused,
				curve{"limit", "limit", numbers(l.Limit), true},
				curve{"in flight", "flight", numbers(l.InFlight), false},
				curve{"waiting", "waiting", numbers(l.Waiting), false}),
			plot("calls per second", at, refused,
				curve{"learned pace", "limit", l.Pace, true},
				curve{"rate", "flight", l.Rate, false}),
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Series.Nodes)) {
		n := r.Series.Nodes[name]
		c.Sections = append(c.Sections, section{"Node " + name, []chart{
			plot("items", at, nil,
				curve{"done", "flight", numbers(n.Done), false},
				curve{"failed", "failed", numbers(n.Failed), false}),
		}})
	}
	return c
}

// news is by how much a count has grown at each moment.
func news(counts []int64) []int64 {
	out := make([]int64, len(counts))
	before := int64(0)
	for i, n := range counts {
		out[i] = max(0, n-before)
		before = n
	}
	return out
}

func numbers[N int | int64](from []N) []float64 {
	out := make([]float64, len(from))
	for i, n := range from {
		out[i] = float64(n)
	}
	return out
}

// span is a duration that people read: to the second from ten seconds on.
func span(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}
