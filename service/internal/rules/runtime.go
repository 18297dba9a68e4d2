package rules

import (
	"strings"
	"time"

	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/near"
)

const mostEnvoyFiles = 1000

func (e *Envoy) check(dir string, p *document.Problems) {
	keys := []string{"envoy"}
	if len(e.Files) > mostEnvoyFiles {
		p.Addf(document.Below(keys, "files"), "%d entries are more than %d", len(e.Files), mostEnvoyFiles)
	}
	for i, file := range e.Files {
		e.Files[i] = inDir(dir, file)
	}
	for name, text := range map[string]string{"limit": e.Headers.Limit, "remaining": e.Headers.Remaining, "reset": e.Headers.Reset} {
		if text != "" && !header.IsToken(text) {
			p.Addf(document.Below(keys, "headers", name), "%q cannot be the name of a header: write one such as RateLimit-Limit", header.Shown(text))
		}
	}
}

func (r *Runtime) check(p *document.Problems) {
	keys := []string{"runtime"}
	if r.Store == "" {
		r.Store = Memory
	}
	all := []string{string(Closed), string(Open), string(Local)}
	switch r.Outage {
	case "":
		r.Outage = Closed
	case Closed, Open, Local:
	default:
		p.Addf(document.Below(keys, "outage"), "%q is not a policy: %s", document.Clip(string(r.Outage)),
			document.DidYouMean(near.Names(string(r.Outage), all, document.MostNear), "write "+strings.Join(all, ", ")))
	}
	share := document.Below(keys, "local_share")
	switch {
	case r.LocalShare != 0 && r.Outage != Local:
		p.Mixf(share, "it is for outage: local: leave it out")
	case r.LocalShare < 0 || r.LocalShare > 1:
		p.Addf(share, "%g is not between 0 and 1: write 1/n for n replicas", r.LocalShare)
	case r.Outage == Local && r.LocalShare == 0:
		p.Mixf(share, "outage: local needs it: write 1/n for n replicas, such as 0.5 for two")
	}
	for _, d := range []struct {
		keys     []string
		v        *time.Duration
		low, top time.Duration
		normal   time.Duration
	}{
		{document.Below(keys, "timeout"), &r.Timeout, 10 * time.Millisecond, 30 * time.Second, defaultTimeout},
		{document.Below(keys, "breaker", "open"), &r.Breaker.Open, 10 * time.Millisecond, time.Hour, 10 * time.Second},
		{document.Below(keys, "breaker", "max_open"), &r.Breaker.MaxOpen, 10 * time.Millisecond, time.Hour, max(time.Minute, r.Breaker.Open)},
		{document.Below(keys, "redis", "dial_timeout"), &r.Redis.DialTimeout, 10 * time.Millisecond, 30 * time.Second, time.Second},
		{document.Below(keys, "permits", "max_age"), &r.Permits.MaxAge, time.Second, 24 * time.Hour, defaultMaxAge},
	} {
		if *d.v == 0 {
			*d.v = d.normal
		} else if *d.v < d.low || *d.v > d.top {
			p.Addf(d.keys, "%s is not between %s and %s", *d.v, d.low, d.top)
		}
	}
	if r.Breaker.Open > r.Breaker.MaxOpen {
		p.Mixf(document.Below(keys, "breaker", "open"), "%s is longer than max_open, %s", r.Breaker.Open, r.Breaker.MaxOpen)
	}
	for _, n := range []struct {
		keys   []string
		v      *int
		top    int
		normal int
	}{
		{document.Below(keys, "breaker", "failures"), &r.Breaker.Failures, 1000, 5},
		{document.Below(keys, "breaker", "successes"), &r.Breaker.Successes, 1000, 2},
		{document.Below(keys, "redis", "pool_size"), &r.Redis.PoolSize, 10_000, 0},
	} {
		if *n.v < 0 || *n.v > n.top {
			p.Addf(n.keys, "%d is not between 1 and %d", *n.v, n.top)
		} else if *n.v == 0 {
			*n.v = n.normal
		}
	}
}
