package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/redact"
	"github.com/headrace/headrace/service/internal/rules"
	"github.com/headrace/headrace/throttle"
)

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
