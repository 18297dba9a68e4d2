package registry

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
)

// compile returns the policy that s describes, but for the guards that it is
// within. Problems go into ps; without any, a guard can be made.
func (s *Spec) compile(at []string, t *presets.Table, inside bool, ps *problems) guard.Policy {
	p := guard.Policy{
		Preset: presets.ID(strings.TrimSpace(string(s.Preset))), Share: s.Share, Presets: t, Limits: s.Limits,
		MaxWait: s.MaxWait, MaxQueue: s.MaxQueue, Timeout: s.Timeout,
	}
	p.Limits.Windows = slices.Clone(p.Limits.Windows)
	if n := s.Limits.Concurrency; n > unbounded {
		ps.Addf(document.Below(at, "limits"), "%d concurrent is too many: write at most %d, or leave it out for no bound", n, unbounded)
		p.Limits.Concurrency = 0
	}
	if s.Dialect != "" {
		p.Dialect = s.Dialect
	}
	if s.Retry != 0 {
		p.Retry = &retry.Policy{MaxAttempts: s.Retry}
	}
	if s.Breaker {
		p.Breaker = &breaker.Config{}
	}
	s.adapt(at, &p, inside, ps)
	ps.addPolicy(at, p.Validate())
	return p
}

// adapt sets the control law.
func (s *Spec) adapt(at []string, p *guard.Policy, inside bool, ps *problems) {
	switch s.Law {
	case "":
	case Measured:
		if inside { // a guard with a detector learns by itself
			p.Detector = func(error) adaptive.Feedback { return adaptive.Feedback{} }
		}
	case AIMD:
		p.Law = adaptive.AIMD{Max: p.Limits.Concurrency}
	case Fixed:
		if s.nothing(p) {
			ps.Mixf(document.Below(at, "law"), "fixed has nothing to keep: add limits, or a preset that has limits")
		}
		p.Law = adaptive.AIMD{Initial: unbounded, Min: unbounded, Max: unbounded}
	default:
		ps.Addf(document.Below(at, "law"), "%s is not a law: %s", quoted(string(s.Law)),
			document.DidYouMean(near.Names(string(s.Law), laws(), document.MostNear), "write "+strings.Join(laws(), ", ")))
	}
}

// forget returns after what time a guard made from the template x is forgotten.
func (s *Spec) forget(x *entry, ps *problems) time.Duration {
	switch at := document.Below(x.at, "idle"); {
	case s.Idle != 0 && !x.template:
		ps.Addf(at, "only guards of a template are evicted: leave it out, or set it on a name such as crawl/*")
	case s.Idle < 0:
		ps.Addf(at, "%s is negative: write a time such as 1h", s.Idle)
	}
	return cmp.Or(s.Idle, time.Hour)
}

// nothing reports whether p sets no limits. An unknown preset might.
func (s *Spec) nothing(p *guard.Policy) bool {
	if s.Limits.Concurrency > 0 || len(s.Limits.Windows) > 0 {
		return false
	}
	t := p.Presets
	if t == nil {
		t = presets.Default()
	}
	profile, err := t.Lookup(string(p.Preset))
	return p.Preset == "" || err == nil && profile.Limits.Concurrency == 0 && len(profile.Limits.Windows) == 0
}

// unbounded is the most calls that a law can have in flight.
const unbounded = 1 << 30

// addPolicy records the problems of a policy under the keys of its fields.
func (ps *problems) addPolicy(at []string, err error) {
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		return
	}
	for _, e := range joined.Unwrap() {
		field, _, _ := strings.Cut(strings.TrimPrefix(e.Error(), `guard "guard": `), ": ")
		to := document.Below(at, keyOfField(field))
		switch f, own := e.(*fault.FieldError); { //nolint:errorlint // one inside of another is about something else
		case own && field == "Share":
			ps.Mixf(to, "%s", f.Problem)
		case own:
			ps.Addf(to, "%s", f.Problem)
		default:
			ps.Add(to, errors.Unwrap(e))
		}
	}
}

// keyOfField is the key of a field of Spec that guard.Policy has too, such as
// max_wait for MaxWait.
func keyOfField(field string) string {
	var b strings.Builder
	for i, r := range field {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
