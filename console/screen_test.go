package console

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// paper is a terminal of endless height that wraps what it shows when it becomes narrower, as most
// do. It knows what screen writes and refuses everything else, such as a cursor that
// goes up into the middle of a line.
type paper struct {
	lines  []string
	at     int // the line of the cursor, from its first column
	col    int
	width  int
	hidden bool
}

func (p *paper) rows(line string) int { return max(1, (len(line)+p.width-1)/p.width) }

func (p *paper) write(t require.TestingT, s string) {
	for s != "" {
		if len(p.lines) == p.at {
			p.lines = append(p.lines, "")
		}
		line := &p.lines[p.at]
		switch c := s[0]; c {
		case '\r':
			p.col, s = 0, s[1:]
		case '\n':
			p.at, p.col, s = p.at+1, 0, s[1:]
		case '\x1b':
			end := strings.IndexAny(s, "AJKmhl")
			arg, code := s[2:end], s[end]
			s = s[end+1:]
			switch code {
			case 'A':
				n, err := strconv.Atoi(arg)
				require.NoError(t, err)
				for n > 0 && p.at > 0 {
					p.at--
					n -= p.rows(p.lines[p.at])
				}
				require.Zero(t, n, "the cursor went up into a line, or out of the paper")
			case 'J':
				*line, p.lines = (*line)[:min(p.col, len(*line))], p.lines[:p.at+1]
			case 'K':
				*line = (*line)[:min(p.col, len(*line))]
			case 'h', 'l':
				if arg == "?25" {
					p.hidden = code == 'l'
				}
			}
		default:
			*line = (*line)[:p.col] + string(c) + (*line)[min(p.col+1, len(*line)):]
			p.col, s = p.col+1, s[1:]
		}
	}
}

func (p *paper) text() []string {
	all := append([]string(nil), p.lines...)
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// What the program prints stays in order, and below it stands one block, also
// where the terminal changes its width on the way.
func TestTheBlockIsReplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			s     screen
			p     = paper{width: rapid.IntRange(2, 60).Draw(t, "width")}
			above []string
			block []string
		)
		t.Repeat(map[string]func(*rapid.T){
			"draw": func(t *rapid.T) {
				block = nil
				for i := range rapid.IntRange(1, 6).Draw(t, "lines") {
					block = append(block, strings.Repeat(strconv.Itoa(i), rapid.IntRange(1, p.width-1).Draw(t, "cells")))
				}
				p.write(t, s.frame("", block, p.width))
			},
			"print": func(t *rapid.T) {
				line := rapid.StringMatching(`[a-z]{1,100}`).Draw(t, "line")
				above = append(above, line)
				p.write(t, s.frame(line+"\n", block, p.width))
			},
			"resize": func(t *rapid.T) { p.width = rapid.IntRange(2, 60).Draw(t, "width") },
			"leave": func(*rapid.T) {
				above, block = append(above, block...), nil
				s.leave()
			},
			"": func(t *rapid.T) {
				require.Equal(t, append(append([]string{}, above...), block...), append([]string{}, p.text()...))
				require.False(t, p.hidden)
				require.Zero(t, p.col)
			},
		})
	})
}

func TestVisible(t *testing.T) {
	for line, want := range map[string]int{"": 0, "abc": 3, "\x1b[31m摘\x1b[0m a": 4} {
		require.Equal(t, want, visible(line), "%q", line)
	}
}

func TestAFrameIsOneWrite(t *testing.T) {
	var s screen
	require.Equal(t, "\x1b[?2026h\x1b[?25l\r\x1b[Ja\x1b[K\r\n\x1b[J\x1b[?25h\x1b[?2026l", s.frame("", []string{"a"}, 80))
	require.Equal(t, "\x1b[?2026h\x1b[?25l\r\x1b[1Ab\x1b[K\r\n\x1b[J\x1b[?25h\x1b[?2026l", s.frame("", []string{"b"}, 80))
	require.Equal(t, "\x1b[?2026h\x1b[?25l\r\x1b[1A\x1b[Jlog\nb\x1b[K\r\n\x1b[J\x1b[?25h\x1b[?2026l", s.frame("log\n", []string{"b"}, 80))
}
