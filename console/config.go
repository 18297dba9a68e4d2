package console

import (
	"io"
	"os"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// Config says where and how progress is shown. The zero value is ready to use.
type Config struct {
	// Output receives the display. Nil means os.Stderr. Only an *os.File can be a terminal.
	Output io.Writer

	// Mode is how to show progress. TTY applies to an Output that is not a terminal too.
	Mode Mode

	// Interval is the least time between two lines of Plain or JSON. 0 means each snapshot
	// in JSON, and in Plain a second at first and up to a minute later.
	Interval time.Duration

	// Size returns the width and height of the terminal, in cells, for each frame; values
	// below 1 mean 80 by 24. Nil means those of Output, or COLUMNS and LINES.
	Size func() (width, height int)

	// LookupEnv reads TERM, CI, NO_COLOR and the like. Nil means os.LookupEnv.
	LookupEnv func(name string) (value string, set bool)
}

type settings struct {
	mode     Mode
	env      environment
	size     func() (width, height int)
	interval time.Duration
}

func (c Config) settle() (settings, error) {
	p := invalid.Problems{Owner: "console"}
	if int(c.Mode) >= len(modeNames) {
		p.Addf("Mode", "%d is not a mode: use Auto, TTY, Plain, JSON or Off", uint8(c.Mode))
	}
	if c.Interval < 0 {
		p.Addf("Interval", "%s is negative: use 0 for the default", c.Interval)
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	return settings{c.Mode, environment{c.LookupEnv}, c.Size, c.Interval}, p.Err()
}
