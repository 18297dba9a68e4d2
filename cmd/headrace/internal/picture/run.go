// Package picture draws a run of the demo: the hidden limit of the provider, the answers and the rejected calls over time, and
// the output on the terminal.
package picture

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/internal/svg"
)

// Run is the data of a picture. The picture contains it as metadata, so that it can be drawn again.
type Run struct {
	Command  string   // repeats the run with the same limits
	Said     []string // at the beginning
	At       float64  // when Display was recorded, in seconds since the beginning
	Display  []string // its lines, with their colours as escape sequences; empty if it was not recorded
	Told     []string // at the end
	Requests int
	Lost     int             // of them
	Ledger   provider.Ledger // with its series
}

// SVG writes r as a picture.
func (r *Run) SVG(w io.Writer) error {
	data, err := json.Marshal(r) // escapes characters that are special in XML
	if err != nil {
		return err
	}
	var body pen
	y := head
	y = body.terminal(y, append([]string{bold("$ " + r.Command)}, append(r.Said, r.Display...)...))
	c := r.chart(y + above)
	if len(r.Display) > 0 {
		body.look(c, r.At, y)
	}
	body.chart(c)
	y = body.terminal(c.y.From+below, r.Told)

	var p pen
	height := y + margin
	p.Addf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %s" width="%g" height="%s" role="img" aria-labelledby="title desc">`+"\n",
		width, svg.Short(height), width, svg.Short(height))
	p.Addf("<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<metadata>%s</metadata>\n<style>%s</style>\n", title, svg.Escape(r.words()), data, style)
	p.Addf(`<rect class="card" x=".5" y=".5" width="%g" height="%s" rx="8"/>`+"\n", width-1, svg.Short(height-1))
	p.Addf(`<text x="%g" y="36" class="h">%s</text><text x="%g" y="60" class="sum">%s</text>`+"\n", margin, title, margin, r.sum())
	p.Addf("%s</svg>\n", body.String())
	_, err = io.WriteString(w, p.String())
	return err
}

const title = "A hidden rate limit, found and followed"

// sum returns the outcome in one line.
func (r *Run) sum() string {
	l := &r.Ledger
	parts := make([]string, 0, 3)
	add := func(number, text string) {
		parts = append(parts, fmt.Sprintf(`<tspan class="n">%s</tspan> %s`, number, text))
	}
	if l.Possible > 0 {
		add(percent(float64(l.Served), l.Possible), "of what was possible")
	}
	if l.Arrivals > 0 {
		add(percent(float64(l.Refused), float64(l.Arrivals)), "of the calls rate-limited")
	}
	add(number(float64(r.Lost)), fmt.Sprintf("of %s requests lost", number(float64(r.Requests))))
	return strings.Join(parts, ` <tspan class="dot">·</tspan> `)
}

// words describes the picture for screen readers.
func (r *Run) words() string {
	var b strings.Builder
	l := &r.Ledger
	fmt.Fprintf(&b, "%s requests to a provider that hides its limit.", number(float64(r.Requests)))
	for _, p := range l.Limits {
		fmt.Fprintf(&b, " From %.1f s to %.1f s it is %s: %d answers, %d calls rate-limited.", p.From, p.To, p.Limit, p.Served, p.Refused)
	}
	for _, line := range r.Told {
		fmt.Fprintf(&b, " %s", line)
	}
	return b.String()
}

func percent(part, of float64) string { return fmt.Sprintf("%.1f %%", 100*part/of) }
