package console

import (
	"io"
	"slices"
	"strings"
	"time"
)

// look shows what is new. ending: it is the last look. It reports whether the
// output is in order.
func (d *Display) look(ending bool) bool {
	for more := true; more; {
		var n news
		n, more = d.follow.take(time.Now(), ending)
		if !d.draw(&n, ending) {
			return false
		}
	}
	return true
}

func (d *Display) draw(n *news, ending bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.err != nil:
		return false
	case n.Progress == nil:
	case d.mode == TTY:
		d.drawLocked(n)
	case d.mode == JSON:
		d.jsonLocked(n)
	default:
		d.plainLocked(n, ending)
	}
	return d.err == nil
}

// drawLocked draws a frame, unless it stands there already.
func (d *Display) drawLocked(n *news) {
	width, height := d.term.cells()
	lines := frame(n.view, width, height, d.style)
	if n.Final && !n.fresh || slices.Equal(lines, d.drawn) && width == d.screen.width {
		return
	}
	d.drawn = lines
	d.writeLocked(d.screen.frame("", lines, width))
	if n.Final {
		d.drawn = nil
		d.screen.leave()
	}
}

func (d *Display) plainLocked(n *news, ending bool) {
	var lines []string
	for _, note := range n.notes {
		lines = append(lines, clean(n.Name)+": "+note)
	}
	switch {
	case n.Final && n.fresh:
		lines = append(append(lines, plainEnd(n.Progress)...), plainLine(n.Progress))
	case n.fresh && d.pace.due(n.Progress), ending && !n.Final:
		lines = append(lines, plainLine(n.Progress))
	}
	if d.term.is {
		width, _ := d.term.cells()
		var folded []string
		for _, line := range lines {
			folded = append(folded, fold(line, width)...)
		}
		lines = folded
	}
	if len(lines) > 0 {
		d.writeLocked(strings.Join(lines, "\n") + "\n")
	}
}

func (d *Display) jsonLocked(n *news) {
	if !n.fresh && len(n.notes) == 0 || n.Final && !n.fresh {
		return
	}
	if d.set.interval > 0 && !n.Final && len(n.notes) == 0 && !d.pace.due(n.Progress) {
		return
	}
	text, err := jsonText(n.Progress, n.notes)
	if err != nil {
		d.err = err
		return
	}
	d.writeLocked(text + "\n")
}

// writeLocked writes all at once, or never again.
func (d *Display) writeLocked(s string) {
	if d.err != nil {
		return
	}
	if _, err := io.WriteString(d.term.w, s); err != nil {
		d.err = err
	}
}
