package console

import (
	"io"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/term"
)

const (
	onWindows = runtime.GOOS == "windows"

	defaultWidth, defaultHeight = 80, 24
	mostWidth, mostHeight       = 1000, 500
)

// terminal is what is written to.
type terminal struct {
	w     io.Writer
	size  func() (width, height int)
	is    bool // a terminal
	close func()
}

// opened looks at w, which it may replace by a handle of its own.
func opened(w io.Writer, s *settings) terminal {
	t := terminal{w: w, size: s.size, close: func() {}}
	if f, ok := w.(*os.File); ok && f != nil {
		fd := int(f.Fd())
		t.is = term.IsTerminal(fd)
		if t.is && t.size == nil {
			t.size = func() (int, int) {
				width, height, err := term.GetSize(fd)
				if err != nil {
					return 0, 0
				}
				return width, height
			}
		}
		if own := duplicate(f); own != nil {
			t.w, t.close = own, func() { _ = own.Close() }
		}
	}
	if t.size == nil {
		t.size = func() (int, int) { return number(s.env.get("COLUMNS")), number(s.env.get("LINES")) }
	}
	return t
}

// cells is the size, with sense.
func (t *terminal) cells() (width, height int) {
	width, height = t.size()
	if width <= 0 {
		width = defaultWidth
	}
	if height <= 0 {
		height = defaultHeight
	}
	return min(width, mostWidth), min(height, mostHeight)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
