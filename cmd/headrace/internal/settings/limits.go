package settings

import (
	"time"

	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// service is the name of a limiter that is not shared, in the registry, in events and in the journal.
const service = "provider"

// limits combines all caps.
func (r *Run) limits(p *problems) {
	caps := &r.Spec.Limits
	for _, n := range []struct {
		flag string
		n    int64
	}{{"--rpm", r.RPM}, {"--tpm", r.TPM}, {"--concurrency", int64(r.Concurrency)}} {
		if n.n < 0 {
			p.addf(n.flag, "%d is negative: leave it out for no cap", n.n)
		}
	}
	for _, text := range r.Limit {
		l, err := throttle.ParseLimits(text)
		if err != nil {
			p.addf("--limit", "%q: %s", text, Plain(err))
			continue
		}
		caps.Windows = append(caps.Windows, l.Windows...)
		caps.Concurrency = least(caps.Concurrency, l.Concurrency)
	}
	if r.RPM > 0 {
		caps.Windows = append(caps.Windows, throttle.Sliding(r.RPM, time.Minute))
	}
	if r.TPM > 0 {
		caps.Windows = append(caps.Windows, throttle.Sliding(r.TPM, time.Minute).Of(throttle.Tokens))
	}
	caps.Concurrency = least(caps.Concurrency, max(0, r.Concurrency))
	r.Spec.Law, r.Spec.MaxWait = registry.Law(r.Law), max(0, r.MaxWait) // bounds reports one that is negative
	switch r.Spec.Law {
	case "", registry.Measured, registry.AIMD, registry.Fixed:
	default:
		p.addf("--law", "%q is not measured, aimd or fixed", r.Law)
	}
	if len(p.all) > 0 {
		return
	}
	if err := r.registry(nil, nil).Validate(); err != nil {
		p.addf("--limit, --law or --preset", "%s", Plain(err))
		return
	}
	r.share(p)
}

func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
