package command

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/demo"
	"github.com/headrace/headrace/cmd/headrace/internal/picture"
	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/event"
)

// scene records the output of a demo, for its picture.
type scene struct {
	picture.Run

	text bytes.Buffer // the text output
	seen *event.Progress
}

// tee returns the writer for the demo's output.
func (s *scene) tee(to io.Writer) io.Writer { return io.MultiWriter(&s.text, to) }

// lines returns the lines written since the last call.
func (s *scene) lines() []string {
	defer s.text.Reset()
	return strings.Split(strings.TrimSpace(s.text.String()), "\n")
}

// watch keeps the display at the time when half of the requests are done, or the last state before that.
func (s *scene) watch(p event.Progress) {
	if s.seen == nil || !p.Final && 2*s.seen.Items.Ended() < s.seen.Items.Total {
		s.seen = &p
	}
}

// draw writes the picture of a run that has ended.
func (s *scene) draw(path string, l *provider.Ledger, joined *demo.Joined) error {
	all := s.lines()
	for i, line := range all {
		if line == "" { // the picture shows the table above as a chart
			s.Told = all[i+1:]
		}
	}
	s.Ledger, s.Lost = *l, joined.Lost
	if s.seen != nil {
		lines, err := picture.Still(*s.seen)
		if err != nil {
			return err
		}
		s.At, s.Display = s.seen.Elapsed.Seconds(), lines
	}
	var out bytes.Buffer
	if err := s.SVG(&out); err != nil {
		return err
	}
	if err := replace(path, out.Bytes()); err != nil {
		return fmt.Errorf("the picture cannot be written: %w", err)
	}
	return nil
}
