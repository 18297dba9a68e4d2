package command

import (
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/console"
)

// display opens the display on standard error: standard output is for results.
func (p *Program) display(mode console.Mode) (*console.Display, error) {
	lookup := func(name string) (string, bool) {
		value := p.Getenv(name)
		return value, value != ""
	}
	shown, err := console.New(console.Config{Output: p.Stderr, Mode: mode, LookupEnv: lookup})
	if err != nil {
		return nil, &settings.Error{Flag: "--progress", Problem: err.Error()}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = shown
	return shown, nil
}

// hide ends the display. Text that is written later appears below its last state. A display that could not
// be written does not make the run a failure.
func (p *Program) hide() {
	p.mu.Lock()
	shown := p.shown
	p.shown = nil
	p.mu.Unlock()
	if shown != nil {
		_ = shown.Close()
	}
}
