package console

import (
	"bytes"
	"io"
)

// mostPending is how long a line without an end may become, in bytes, before it is ended.
const mostPending = 64 << 10

// Writer returns a writer that prints whole lines above the display, such as a log. In
// every mode they go to Config.Output. An incomplete line waits for its end or for Close. Unlike
// the display, a write waits for the output and returns its error. Safe for concurrent use.
func (d *Display) Writer() io.Writer { return above{d} }

type above struct{ d *Display }

// Write implements io.Writer.
func (a above) Write(p []byte) (int, error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.err != nil:
		return 0, d.err
	case d.mode == Off || d.dead.Load():
		return d.direct.Write(p)
	}
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 && len(d.pending)+len(p) < mostPending {
		d.pending = append(d.pending, p...)
		return len(p), nil
	}
	d.pending = append(d.pending, p[:end]...)
	if end == 0 { // too long
		d.pending, end = append(append(d.pending, p...), '\n'), len(p)
	}
	text := d.pending
	d.pending = append([]byte(nil), p[end:]...)
	d.aboveLocked(text)
	if d.err != nil {
		return 0, d.err
	}
	return len(p), nil
}

// aboveLocked prints whole lines.
func (d *Display) aboveLocked(text []byte) {
	if len(d.drawn) == 0 {
		d.writeLocked(string(text))
		return
	}
	width, _ := d.term.cells()
	d.writeLocked(d.screen.frame(string(text), d.drawn, width))
}
