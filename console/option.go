package console

import (
	"os"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// Option is a setting of New.
type Option func(*settings)

type settings struct {
	mode     Mode
	env      environment
	size     func() (width, height int)
	interval time.Duration
}

// WithMode says how to show progress; the default is Auto. TTY is obeyed where there
// is no terminal too: it then has the size that COLUMNS and LINES tell, or 80 by 24.
func WithMode(m Mode) Option { return func(s *settings) { s.mode = m } }

// WithInterval sets the least time between two lines of Plain or JSON; the last one always
// comes. 0 is the default: a JSON line for each snapshot, and a Plain line after a
// second, later after a tenth of the time that the run has taken, at most a minute,
// and for each 5 % if that is not within a second of the line before.
func WithInterval(d time.Duration) Option { return func(s *settings) { s.interval = d } }

// WithSize has a terminal's width and height, in cells, told by f and not by the
// system: for one that is at the other end of a connection. It is asked for each
// frame; what is not positive counts as 80 by 24.
func WithSize(f func() (width, height int)) Option { return func(s *settings) { s.size = f } }

// WithEnv reads TERM, CI, NO_COLOR and the like by lookup and not by os.LookupEnv.
func WithEnv(lookup func(name string) (value string, set bool)) Option {
	return func(s *settings) { s.env.lookup = lookup }
}

func settle(opts []Option) (settings, error) {
	s := settings{env: environment{os.LookupEnv}}
	for _, o := range opts {
		if o != nil {
			o(&s)
		}
	}
	p := invalid.Problems{Owner: "console"}
	if int(s.mode) >= len(modeNames) {
		p.Addf("WithMode", "%d is no mode: use Auto, TTY, Plain, JSON or Off", uint8(s.mode))
	}
	if s.interval < 0 {
		p.Addf("WithInterval", "%s is negative: use 0 for the default", s.interval)
	}
	if s.env.lookup == nil {
		p.Addf("WithEnv", "the function is nil: leave the option out for os.LookupEnv")
	}
	return s, p.Err()
}
