package service

import (
	"bytes"
	"context"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/service/internal/rules"
)

// reading is what was read at a time.
type reading struct {
	data   []byte
	config *rules.Config
	envoy  ofEnvoy
}

// file is the state of the configuration.
type file struct {
	read    reading
	since   time.Time // when read was applied
	seen    []byte    // the last bytes, valid or not
	files   []string  // of Envoy, as the last configuration that was valid without them names them
	envoy   []byte    // their sum
	problem string    // why they are not served; empty if they are
	failed  time.Time // since when
	restart []string  // settings that take effect after a restart
	applied int64
	failing int64
}

func (c *Config) read() (reading, error) {
	if c.File == "" {
		config, err := rules.Parse(c.Text)
		return readEnvoy(c.Text, config, err)
	}
	config, data, err := rules.Load(c.File)
	return readEnvoy(data, config, err)
}

// Reload reads the file again now. If it is invalid, the limits do not change and the
// error is that of New. Limits change in place: what was used stays used. The store, the
// outage policy, the breaker and the key of permits change with a restart only.
func (s *Server) Reload(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.config.read()
	return s.reloadLocked(ctx, next, err)
}

var errTokens = &fault.FieldError{
	Owner: owner, Field: "runtime.auth", Problem: "no token is left: restart the service to serve without tokens",
}

func (s *Server) reloadLocked(ctx context.Context, next reading, err error) error {
	if err == nil && len(next.config.Tokens) == 0 && len(*s.tokens.Load()) > 0 {
		err = errTokens
	}
	f := &s.file
	f.note(&next)
	if err != nil {
		f.failing++
		s.meters.Reloaded("failed")
		if text := err.Error(); text != f.problem {
			f.problem, f.failed = text, s.now()
			s.log.ErrorContext(ctx, "the configuration is invalid: the limits are unchanged", "file", s.config.File, "err", err)
		}
		s.decider.SetProblem(f.problem)
		return err
	}
	same := f.problem == "" && bytes.Equal(next.data, f.read.data) && bytes.Equal(next.envoy.sum, f.read.envoy.sum)
	s.tokens.Store(&next.config.Tokens)
	s.decider.SetRules(next.config.Rules)
	if err := s.envoy.Use(next.envoy.settings); err != nil { // it was validated
		s.log.ErrorContext(ctx, "the configuration of Envoy is invalid: its limits are unchanged", "err", err)
	}
	f.problem = ""
	s.decider.SetProblem("")
	f.restart = restart(&f.read.config.Runtime, &next.config.Runtime)
	if same {
		s.meters.Reloaded("unchanged")
		return nil
	}
	// What takes effect after a restart only is still that of the start.
	next.config.Runtime, next.config.Key = f.read.config.Runtime, f.read.config.Key
	f.read, f.since = next, s.now()
	f.applied++
	s.meters.Reloaded("applied")
	s.log.InfoContext(ctx, "the configuration was reloaded", "file", s.config.File, "rules", len(next.config.Rules.All()), "restart", f.restart)
	return nil
}

// note remembers what was read, valid or not.
func (f *file) note(r *reading) {
	f.seen = r.data
	if r.config != nil {
		f.files = r.config.Envoy.Files
	}
	if f.envoy = r.envoy.sum; f.envoy == nil {
		f.envoy = sumOf(f.files)
	}
}

func (s *Server) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.problem != ""
}

// restart names the settings that differ and take effect after a restart only.
func restart(a, b *rules.Runtime) (names []string) {
	for _, x := range []struct {
		name string
		same bool
	}{
		{"store", a.Store == b.Store},
		{"outage", a.Outage == b.Outage},
		{"local_share", a.LocalShare == b.LocalShare},
		{"timeout", a.Timeout == b.Timeout},
		{"breaker", a.Breaker == b.Breaker},
		{"redis", a.Redis == b.Redis},
		{"permits", a.Permits == b.Permits},
	} {
		if !x.same {
			names = append(names, "runtime."+x.name)
		}
	}
	return names
}
