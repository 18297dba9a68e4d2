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

Every pass measures every contender of an operation right after the other, beginning with another one each time. A ratio
is taken within a pass; the tables show the median of the passes and, in brackets, the least and the greatest. Below 1 is
faster than the one that is divided by. Bare times depend on the machine and stand at the end. The contenders do
not all do the same: what each does is said above its table.

## Targets

`, m.Date.Format(time.DateOnly), m.Cores, m.System, m.Go, len(passes))

	row(&page, []string{"target", "bound", "measured", ""})
	row(&page, []string{"---", "---", "---:", "---"})
	for _, t := range Targets() {
		status, measured := t.Judge(passes)
		row(&page, []string{t.Claim, t.Bound(), measured.String(), status.String()})
	}
	page.WriteString("\nWhat is timed is judged by its median, what is counted by its worst pass.\n\n## Tables\n")
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
	fmt.Fprint(w, "\n## Bare times\n\nOf one machine on one day; only the ratios above can be compared with another.\n\n")
	row(w, []string{"operation", "contender", "unit", "median (least..greatest)"})
	row(w, []string{"---", "---", "---", "---:"})
	for _, k := range slices.SortedFunc(maps.Keys(found), Key.compare) {
		row(w, []string{k.Op, k.Contender, k.Unit, Summarize(Values(passes, k)).String()})
	}
}
