package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Machine is where, when and with what a report was measured.
type Machine struct {
	Cores   int
	System  string // as GOOS/GOARCH
	Go      string // the version
	Date    time.Time
	Modules []string // what was compared, with versions
}

// Write writes the page. It is Markdown.
func Write(w io.Writer, m Machine, passes []Pass) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, `# Benchmarks

Written by `+"`make bench`"+` and not by hand: %s, %d cores, %s, %s, %d passes.

Each pass measures all contenders of an operation one right after the other, and starts with a different one each time.
Ratios are taken within a pass; the tables show the median of all passes, with the minimum and the maximum in brackets.
Below 1 is faster than the reference. Absolute times depend on the machine and are at the end. The contenders do not all
do the same work: the text above each table says what they do.

## Targets

`, m.Date.Format(time.DateOnly), m.Cores, m.System, m.Go, len(passes))

	row(&page, []string{"target", "bound", "measured", ""})
	row(&page, []string{"---", "---", "---:", "---"})
	for _, t := range Targets() {
		status, measured := t.Judge(passes)
		row(&page, []string{t.Claim, t.Bound(), measured.String(), status.String()})
	}
	page.WriteString("\nTimes are judged by the median pass, counts by the worst one.\n\n## Tables\n")
	for _, s := range Sections() {
		s.table(&page, passes)
	}
	times(&page, passes)
	page.WriteString("\n## Versions\n\n")
	for _, module := range m.Modules {
		fmt.Fprintf(&page, "- %s\n", module)
	}
	_, err := w.Write(page.Bytes())
	return err
}

// times writes the bare times of everything that was timed.
func times(w *bytes.Buffer, passes []Pass) {
	found := map[Key]bool{}
	for _, p := range passes {
		for k := range p {
			if strings.HasPrefix(k.Unit, "ns/") || strings.HasPrefix(k.Unit, "cpu-ns/") {
				found[k] = true
			}
		}
	}
	fmt.Fprint(w, "\n## Absolute times\n\nFrom one machine on one day. Only the ratios above can be compared between machines.\n\n")
	row(w, []string{"operation", "contender", "unit", "median (least..greatest)"})
	row(w, []string{"---", "---", "---", "---:"})
	for _, k := range slices.SortedFunc(maps.Keys(found), Key.compare) {
		row(w, []string{k.Op, k.Contender, k.Unit, Summarize(Values(passes, k)).String()})
	}
}
