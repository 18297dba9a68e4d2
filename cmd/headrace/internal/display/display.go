// Package display shows a run while it goes on, in plain lines. What it wants of a
// display is what console.Display has, so that one can stand in its place.
package display

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/flow"
)

// Display shows a run. All methods are safe for concurrent use.
type Display interface {
	// Show gets a snapshot every second, and at last one that is Final.
	Show(p flow.Progress)
	// Writer takes whole lines that stay above what is shown.
	Writer() io.Writer
	// Close ends it. Nothing is shown afterwards.
	Close() error
}

// plainEvery is how often a log gets a line.
const plainEvery = 10 * time.Second

// New returns the display of a mode: plain, json or off. Auto is plain, and so is tty as yet.
func New(mode string, to io.Writer) Display {
	d := &lines{to: to}
	switch mode {
	case "off":
		d.show = func(*flow.Progress) string { return "" }
	case "json":
		d.show, d.every = jsonLine, time.Second/2
	default:
		d.show, d.every = plainLine, plainEvery
	}
	return d
}

// lines writes a line for a snapshot.
type lines struct {
	show  func(*flow.Progress) string
	every time.Duration

	mu   sync.Mutex // guards everything below
	to   io.Writer
	last time.Duration // elapsed, at the last line
}

// Show implements Display.
func (d *lines) Show(p flow.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Elapsed-d.last < d.every && !p.Final {
		return
	}
	d.last = p.Elapsed
	if text := d.show(&p); text != "" {
		fmt.Fprintln(d.to, text)
	}
}

// Writer implements Display.
func (d *lines) Writer() io.Writer { return locked{d} }

// Close implements Display.
func (d *lines) Close() error { return nil }

type locked struct{ *lines }

func (l locked) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(text)
}

func plainLine(p *flow.Progress) string {
	i, b := &p.Items, &strings.Builder{}
	fmt.Fprintf(b, "%6s  %d", p.Elapsed.Round(time.Second), i.Done+i.Resumed)
	if i.Total > 0 {
		fmt.Fprintf(b, " of %d", i.Total)
	}
	fmt.Fprintf(b, " done, %d failed, %.1f/s", i.Failed, i.Rate)
	if i.ETA > 0 {
		fmt.Fprintf(b, ", %s left", i.ETA.Round(time.Second))
	}
	for j := range p.Limiters {
		l := &p.Limiters[j]
		fmt.Fprintf(b, "; %d in flight, %d refused", l.InFlight, l.Hits)
		if l.Why != "" && !p.Final {
			b.WriteString("; " + l.Why)
		}
	}
	return b.String()
}

func jsonLine(p *flow.Progress) string {
	i := &p.Items
	text, err := json.Marshal(map[string]any{
		"elapsed_s": p.Elapsed.Seconds(), "final": p.Final, "total": i.Total, "pending": i.Pending, "done": i.Done, "resumed": i.Resumed,
		"failed": i.Failed, "abandoned": i.Abandoned, "retries": i.Retries, "rate": i.Rate, "eta_s": i.ETA.Seconds(),
	})
	if err != nil {
		return ""
	}
	return string(text)
}
