package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

const (
	// lookEvery is how often the file is compared with what was read. What two looks in a
	// row have seen is read, so that a file that is being written is not.
	lookEvery = 400 * time.Millisecond
	// reloadEvery is how often it is read in any case, with the files that it names.
	reloadEvery = time.Minute
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

// watch reads the file when it changes. It compares contents, so that it follows symbolic
// links that are swapped, and misses no change within the precision of a clock.
func (s *Server) watch(ctx context.Context) {
	last := s.clock.Elapsed()
	var was look
	for {
		over := make(chan struct{})
		timer := s.clock.AfterFunc(lookEvery, func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		is := s.look()
		now := s.clock.Elapsed()
		if is.same(was) && (now-last >= reloadEvery || s.differs(is)) && s.settle(ctx, is) {
			last = now
		}
		was = is
	}
}

// look is what the files were at an instant.
type look struct {
	data  []byte
	envoy []byte // the sum of Envoy's files
	taken bool   // there was a look
	gone  bool   // the file could not be read
}

func (l look) same(of look) bool {
	return of.taken && l.gone == of.gone && bytes.Equal(l.data, of.data) && bytes.Equal(l.envoy, of.envoy)
}

func (s *Server) look() look {
	data, err := rules.Read(s.config.File)
	s.mu.Lock()
	files := s.file.files
	s.mu.Unlock()
	return look{data, sumOf(files), true, err != nil}
}

// settle reloads the file if it still is what was seen.
func (s *Server) settle(ctx context.Context, seen look) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.config.read()
	is := look{next.data, seen.envoy, true, next.data == nil}
	if err == nil && slices.Equal(next.config.Envoy.Files, s.file.files) {
		is.envoy = next.envoy.sum
	}
	if !is.same(seen) {
		return false
	}
	_ = s.reloadLocked(ctx, next, err) // it says so itself
	return true
}

// differs reports whether the files are others than those that were read last.
func (s *Server) differs(is look) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.file
	if is.gone {
		return f.seen != nil
	}
	return !bytes.Equal(is.data, f.seen) || !bytes.Equal(is.envoy, f.envoy)
}

func (s *Server) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.problem != ""
}

// described is what GET /v1/config answers. It has no secret.
type described struct {
	File     string           `json:"file,omitempty"`
	SHA256   string           `json:"sha256"`
	LoadedAt time.Time        `json:"loaded_at"`
	Problem  string           `json:"problem,omitempty"`
	Since    *time.Time       `json:"problem_since,omitempty"`
	Restart  []string         `json:"needs_restart,omitempty"`
	Applied  int64            `json:"reloads_applied"`
	Failed   int64            `json:"reloads_failed"`
	Rules    []rule           `json:"rate_limits"`
	Costs    map[string]int64 `json:"costs,omitempty"`
	Envoy    *envoyed         `json:"envoy,omitempty"`
	Runtime  runtime          `json:"runtime"`
	Store    store            `json:"store"`
	Blocked  []blocked        `json:"blocked_most"`
}

type envoyed struct {
	Files      []string `json:"files"`
	Domains    int      `json:"domains"`
	Limits     int      `json:"limits"`
	ShadowMode bool     `json:"shadow_mode"`
}

type rule struct {
	Name     string   `json:"name"`
	Scope    string   `json:"scope,omitempty"`
	Resource string   `json:"resource,omitempty"`
	Capacity *int64   `json:"capacity,omitempty"`
	Refill   *float64 `json:"refill_rate,omitempty"`
	Limits   string   `json:"limits,omitempty"`
	MinWait  int64    `json:"min_refill_interval_ms,omitempty"`
}

type runtime struct {
	Store   string  `json:"store"`
	Outage  string  `json:"outage"`
	Share   float64 `json:"local_share,omitempty"`
	Timeout string  `json:"timeout"`
	Breaker struct {
		Failures  int    `json:"failures"`
		Successes int    `json:"successes"`
		Open      string `json:"open"`
		MaxOpen   string `json:"max_open"`
	} `json:"breaker"`
	Tokens     int    `json:"tokens"`
	PermitAge  string `json:"permit_max_age"`
	PermitsOwn bool   `json:"permits_of_this_process_only"`
}

type store struct {
	Status    string  `json:"status"`
	Reachable bool    `json:"reachable"`
	Breaker   string  `json:"breaker"`
	Latency   float64 `json:"latency_seconds"`
	Skew      float64 `json:"clock_skew_seconds"`
	Jumps     int64   `json:"clock_jumps"`
	Asked     int64   `json:"requests"`
	Failed    int64   `json:"failures"`
	Fallbacks int64   `json:"fallbacks"`
}

type blocked struct {
	Scope      string `json:"scope"`
	Identifier string `json:"identifier"`
	Resource   string `json:"resource"`
	Refused    int64  `json:"refused"`
}

func (s *Server) describe(ctx context.Context) described {
	const mostBlocked = 20
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	sum := sha256.Sum256(f.read.data)
	d := described{
		File: s.config.File, SHA256: hex.EncodeToString(sum[:]), LoadedAt: f.since, Problem: f.problem, Restart: f.restart,
		Applied: f.applied, Failed: f.failing, Costs: f.read.config.Rules.Costs(), Blocked: []blocked{},
	}
	if f.problem != "" {
		d.Since = &f.failed
	}
	for _, r := range f.read.config.Rules.All() {
		x := rule{Name: r.Name, Scope: r.Scope, Resource: r.Resource, MinWait: r.MinWait.Milliseconds()}
		switch w := r.Limits.Windows; {
		case r.OneShot:
			x.Capacity, x.Refill = new(w[0].Max()), new(float64(0))
		case len(w) == 1 && w[0].Kind() == throttle.TokenBucket:
			x.Capacity, x.Refill = new(w[0].Max()), new(w[0].Rate())
		default:
			l := throttle.Limits{}
			for _, one := range w {
				l.Windows = append(l.Windows, one.Of(throttle.Requests))
			}
			x.Limits = l.String()
		}
		d.Rules = append(d.Rules, x)
	}
	if e := f.read.config.Envoy; len(e.Files) > 0 {
		c := f.read.envoy.settings.Config
		d.Envoy = &envoyed{e.Files, c.Domains(), c.Rules(), e.ShadowMode}
	}
	rt := f.read.config.Runtime
	d.Runtime = runtime{
		Store: address(rt.Store), Outage: string(rt.Outage), Share: rt.LocalShare, Timeout: rt.Timeout.String(),
		Tokens: len(*s.tokens.Load()), PermitAge: rt.Permits.MaxAge.String(), PermitsOwn: f.read.config.Key == nil || rt.Store == rules.Memory,
	}
	b := &d.Runtime.Breaker
	b.Failures, b.Successes, b.Open, b.MaxOpen = rt.Breaker.Failures, rt.Breaker.Successes, rt.Breaker.Open.String(), rt.Breaker.MaxOpen.String()
	h, st := s.decider.Health(ctx), s.decider.Stats()
	d.Store = store{
		h.Status, h.StoreReachable, string(h.Breaker), h.Latency.Seconds(), h.Skewed.Seconds(), h.Jumps, st.Asked, st.Failed, st.Degraded,
	}
	for _, x := range s.decider.Blocked(mostBlocked) {
		d.Blocked = append(d.Blocked, blocked{x.Scope, x.Identifier, x.Resource, x.Refused})
	}
	return d
}

// address is that of a store without its password.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return redact.Mark
	}
	if (u.Opaque != "" || u.Host == "") && !strings.ContainsAny(text, "@?") {
		return text // such as sqlite:limits.db
	}
	return redact.URL(u)
}
