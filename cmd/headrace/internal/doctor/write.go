package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// WritePlaces writes the configuration, the stores and the groups.
func (r *Report) WritePlaces(to io.Writer) {
	if c := r.Configuration; c != nil {
		c.write(to)
	}
	for _, s := range r.Stores {
		s.write(to)
	}
	for _, g := range r.Groups {
		g.write(to)
	}
	for _, preset := range r.Presets {
		fmt.Fprintf(to, "preset %s, of %s\n", preset.ID, preset.Date)
	}
	if len(r.Presets) > 0 {
		fmt.Fprintln(to)
	}
	if s := r.Service; s != nil {
		fmt.Fprintf(to, "service %s: %s", s.Address, s.Status)
		if s.Breaker != "" {
			fmt.Fprintf(to, ", breaker %s", s.Breaker)
		}
		fmt.Fprint(to, "\n\n")
	}
}

// table writes rows with aligned columns, indented.
func table(to io.Writer, fill func(row func(cells ...string))) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(func(cells ...string) {
		for i, c := range cells {
			cells[i] = strings.Join(strings.Fields(c), " ") // one row
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	})
	_ = w.Flush() // a buffer
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(to, "  "+strings.TrimRight(line, " \n"))
	}
}

func (c *Configuration) write(to io.Writer) {
	fmt.Fprintf(to, "configuration %s\n", cmp.Or(c.Source, "of the command line"))
	table(to, func(row func(...string)) {
		row("NAME", "LIMITS", "STARTS FROM", "LEARNS", "WITHIN", "SHARED IN")
		for i := range c.Guards {
			g := &c.Guards[i]
			preset := g.Preset
			if g.PresetDate != "" {
				preset += " (" + g.PresetDate + ")"
			}
			if g.Share > 0 && g.Share < 1 {
				preset = strings.TrimSpace(strconv.FormatFloat(g.Share, 'g', 3, 64) + " of " + cmp.Or(preset, "what is found"))
			}
			name := g.Name
			if g.Applies != "" {
				name += " (" + g.Applies + ")"
			}
			row(name, cmp.Or(g.Limits, "-"), cmp.Or(preset, "-"), learns(g.Law), cmp.Or(strings.Join(g.Within, ", "), "-"), g.Store)
		}
	})
	fmt.Fprintln(to)
}

// learns describes whether a guard finds limits.
func learns(law string) string {
	if law == "fixed" {
		return "no"
	}
	return law
}

func (s *Store) write(to io.Writer) {
	fmt.Fprintf(to, "store %s: %s", s.Address, s.State)
	if s.State == Answers {
		fmt.Fprintf(to, " in %.3g ms (slowest %.3g ms)", s.Median, s.Slowest)
		if s.Exactly > 0 {
			fmt.Fprintf(to, ", clock %+.3g s (to %.2g s)", s.Clock, s.Exactly)
		}
		if s.Server != "" {
			fmt.Fprintf(to, ", %s", s.Server)
		}
		atLeast := ""
		if s.Partial {
			atLeast = "at least "
		}
		fmt.Fprintf(to, ", %s%s", atLeast, plural(s.Found, "key"))
	}
	fmt.Fprintln(to)
	if len(s.Keys) > 0 {
		table(to, func(row func(...string)) {
			row("KEY", "WINDOW", "USED", "LEFT", "FREES IN", "IN FLIGHT", "PAUSED")
			for i := range s.Keys {
				s.Keys[i].rows(row)
			}
		})
		if more := s.Found - len(s.Keys); more > 0 {
			fmt.Fprintf(to, "  and %s (--keys N lists more, --prefix TEXT filters them)\n", plural(more, "key"))
		}
	}
	fmt.Fprintln(to)
}

func (k *Key) rows(row func(...string)) {
	flying, paused := strconv.Itoa(k.InFlight), "-"
	if k.Concurrency > 0 {
		flying += " of " + strconv.Itoa(k.Concurrency)
	}
	if k.Paused > 0 {
		paused = seconds(k.Paused)
	}
	name := named(k.Name)
	for _, w := range k.Windows {
		row(name, w.Window, strconv.FormatInt(w.Used, 10), strconv.FormatInt(w.Left, 10), seconds(w.FreesIn), flying, paused)
		name, flying, paused = "", "", ""
	}
	if len(k.Windows) == 0 {
		row(name, "-", "", "", "", flying, paused)
	}
}

// seconds writes a duration in words.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d <= 0:
		return "-"
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func (g *Group) write(to io.Writer) {
	text := g.State
	if g.Leader > 0 {
		text = fmt.Sprintf("led by process %d (%s)", g.Leader, cmp.Or(g.Program, "unknown"))
	}
	if g.Leader > 0 && g.State == Stopped {
		text += ", which is stopped"
	}
	fmt.Fprintf(to, "group %s: %s\n", g.Address, text)
	for _, r := range g.Replicas {
		text := r.State
		if r.Leader != "" {
			text += ": " + r.Leader + " leads"
		}
		fmt.Fprintf(to, "  %s %s\n", r.URL, text)
	}
	fmt.Fprintln(to)
}

// WriteWindows writes the windows of the limiters of the program.
func (p *Program) WriteWindows(to io.Writer) {
	used := false
	for i := range p.Limiters {
		used = used || len(p.Limiters[i].Windows) > 0
	}
	if !used {
		return
	}
	fmt.Fprintln(to)
	table(to, func(row func(...string)) {
		row("LIMITER", "WINDOW", "USED", "LEFT", "FREES IN")
		for i := range p.Limiters {
			name := p.Limiters[i].Name
			for _, w := range p.Limiters[i].Windows {
				row(name, w.Window, strconv.FormatInt(w.Used, 10), strconv.FormatInt(w.Left, 10), seconds(w.FreesIn))
				name = ""
			}
		}
	})
}

// WriteFindings writes the environment, what could not be examined, and the findings.
func (r *Report) WriteFindings(to io.Writer) {
	for _, v := range r.Environment {
		fmt.Fprintf(to, "%s points to %s\n", v.Name, v.To)
	}
	if len(r.Environment) > 0 {
		fmt.Fprintln(to)
	}
	if len(r.Unseen) > 0 {
		fmt.Fprintln(to, "not seen:")
		for _, text := range r.Unseen {
			fmt.Fprintf(to, "  %s\n", text)
		}
		fmt.Fprintln(to)
	}
	counts := map[Severity]int{}
	for _, f := range r.Findings {
		counts[f.Severity]++
		fmt.Fprintf(to, "%s: %s: %s\n", f.Severity, f.Where, f.Problem)
		if f.Remedy != "" {
			fmt.Fprintf(to, "  %s\n", f.Remedy)
		}
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(to)
	}
	switch {
	case r.Healthy && r.Configuration == nil && len(r.Stores)+len(r.Groups)+len(r.Presets) == 0 && r.Program == nil && r.Service == nil:
		fmt.Fprintln(to, "nothing is wrong with the environment; to examine limits, name a configuration, --share ADDRESS or --dashboard ADDR")
		return
	case r.Healthy:
		fmt.Fprintln(to, "nothing is wrong")
		return
	}
	fmt.Fprintf(to, "%s, %s\n", plural(counts[Problem], "problem"), plural(counts[Warning], "warning"))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
