package presets

import (
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/throttle"
)

// tier merges the rows of a tier into one profile. ok is false if none of them is Main and some have limits, because it is
// unknown which of those apply.
func tier(id ID, rows []*Profile) (p Profile, ok bool) {
	use := slices.DeleteFunc(slices.Clone(rows), func(p *Profile) bool { return p.Kind != KindLimits || !p.Main })
	info := slices.DeleteFunc(slices.Clone(rows), func(p *Profile) bool { return p.Kind != KindInfo })
	switch {
	case len(use) > 0:
	case len(info) > 0 && len(info) == len(rows):
		use = info
	default:
		return Profile{}, false
	}
	p = slices.MinFunc(use, older).clone()
	p.ID, p.Model = id, ""
	if len(use) == 1 {
		return p, true
	}
	p.Notes = notes(use)
	for _, other := range use {
		merge(&p, other)
	}
	return p, true
}

// older sorts by date, and by trust within a date.
func older(a, b *Profile) int {
	if c := a.AsOf.Compare(b.AsOf); c != 0 {
		return c
	}
	return a.Confidence.trust() - b.Confidence.trust()
}

func notes(rows []*Profile) string {
	var names, said []string
	for _, p := range rows {
		names = append(names, p.Model)
		said = append(said, p.Model+": "+p.Notes)
	}
	if rows[0].Kind == KindInfo {
		return strings.Join(said, "; ")
	}
	return "the least of " + strings.Join(names, ", ")
}

// merge takes over what is tighter in q.
func merge(p, q *Profile) {
	if n := q.Limits.Concurrency; n > 0 && (p.Limits.Concurrency == 0 || n < p.Limits.Concurrency) {
		p.Limits.Concurrency = n
	}
	for _, w := range q.Limits.Windows {
		addWindow(&p.Limits, w)
	}
	for fact, n := range q.Extra {
		if have, ok := p.Extra[fact]; !ok || n < have {
			if p.Extra == nil {
				p.Extra = map[string]int64{}
			}
			p.Extra[fact] = n
		}
	}
	if q.Confidence.trust() < p.Confidence.trust() {
		p.Confidence = q.Confidence
	}
	p.Hard = p.Hard || q.Hard
	if p.Pool != q.Pool {
		p.Pool = string(p.ID)
	}
	for _, text := range [...]struct{ mine, other *string }{
		{&p.Scope, &q.Scope},
		{&p.Algorithm, &q.Algorithm},
		{&p.Counts, &q.Counts},
		{&p.Status, &q.Status},
	} {
		if *text.mine != *text.other {
			*text.mine = ""
		}
	}
	if p.PointsUnit == "" {
		p.PointsUnit = q.PointsUnit
	} else if q.PointsUnit != "" && q.PointsUnit != p.PointsUnit {
		p.PointsUnit = "points"
	}
}

// addWindow keeps the tighter of two windows that count the same over the same time.
func addWindow(l *throttle.Limits, w throttle.Window) {
	same := func(have throttle.Window) bool {
		d := period(have) - period(w)
		return have.Unit() == w.Unit() && d.Abs() < time.Millisecond
	}
	switch i := slices.IndexFunc(l.Windows, same); {
	case i < 0:
		l.Windows = append(l.Windows, w)
	case w.Max() < l.Windows[i].Max():
		l.Windows[i] = w
	}
}
