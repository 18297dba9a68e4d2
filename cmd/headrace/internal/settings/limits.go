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
	rpm, tpm := atLeastOne(p, "--rpm", r.RPM), atLeastOne(p, "--tpm", r.TPM)
	concurrency := atLeastOne(p, "--concurrency", r.Concurrency)
	for _, text := range r.Limit {
		l, err := throttle.ParseLimits(text)
		if err != nil {
			p.addf("--limit", "%q: %s", text, Plain(err))
			continue
		}
		caps.Windows = append(caps.Windows, l.Windows...)
		caps.Concurrency = least(caps.Concurrency, l.Concurrency)
	}
	if rpm > 0 {
		caps.Windows = append(caps.Windows, throttle.Sliding(rpm, time.Minute))
	}
	if tpm > 0 {
		caps.Windows = append(caps.Windows, throttle.Sliding(tpm, time.Minute).Of(throttle.Tokens))
	}
	caps.Concurrency = least(caps.Concurrency, concurrency)
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

// atLeastOne returns the cap that a flag sets, or 0 if it sets none. A cap of 0 would admit nothing, and whether no cap is meant
// by it cannot be known.
func atLeastOne[N int | int64](p *problems, flag string, n *N) N {
	switch {
	case n == nil:
		return 0
	case *n < 1:
		p.addf(flag, "%d is less than 1: leave the flag out for no limit", *n)
		return 0
	}
	return *n
}

func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
