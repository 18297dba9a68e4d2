package registry

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/presets"
)

// compile returns the policy that s describes. Problems go into ps; without
// any, a guard can be made.
func (s *Spec) compile(at []string, t *presets.Table, ps *problems) guard.Policy {
	p := guard.Policy{
		Preset: presets.ID(strings.TrimSpace(string(s.Preset))), Share: s.Share, Presets: t,
		Limits: s.Limits, MaxWait: s.MaxWait,
	}
	if n := s.Limits.Concurrency; n > unbounded {
		ps.addf(below(at, "limits"), "%d concurrent is too many: write at most %d, or leave it out for no bound", n, unbounded)
		p.Limits.Concurrency = 0
	}
	p.Limits.Windows = slices.Clone(p.Limits.Windows)
	if s.Dialect != "" {
		p.Dialect = s.Dialect
	}
	p.Law = s.law(at, &p, ps)
	ps.addPolicy(at, p.Validate())
	return p
}

// law returns the control law; nil stands for Measured.
func (s *Spec) law(at []string, p *guard.Policy, ps *problems) adaptive.Law {
	switch s.Law {
	case "", Measured:
		return nil
	case AIMD:
		return adaptive.AIMD{Max: p.Limits.Concurrency}
	case Fixed:
		if s.nothing(p) {
			ps.mixf(below(at, "law"), "fixed has nothing to keep: add limits, or a preset that has limits")
		}
		return adaptive.AIMD{Initial: unbounded, Min: unbounded, Max: unbounded}
	default:
		ps.addf(below(at, "law"), "%q is not a law: %s", clip(string(s.Law)),
			didYouMean(near.Names(string(s.Law), laws(), mostNear), "write "+strings.Join(laws(), ", ")))
		return nil
	}
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
		to := below(at, keyOfField(field))
		switch f, own := e.(*fault.FieldError); { //nolint:errorlint // one inside of another is about something else
		case own && field == "Share":
			ps.mixf(to, "%s", f.Problem)
		case own:
			ps.addf(to, "%s", f.Problem)
		default:
			ps.add(to, errors.Unwrap(e))
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
