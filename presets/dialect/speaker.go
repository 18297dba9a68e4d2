package dialect

import (
	"cmp"

	"github.com/headrace/headrace/throttle"
)

// speaker is what is known of one dialect. It is data: the readers are the
// same for all.
type speaker struct {
	name   Name
	hosts  []string // and their subdomains; or patterns, see path.Match
	marks  []string // header fields by which it is known: none that gateways add to the answers of others
	shape  func(*document) bool
	gauges []gauge  // of its own; where they say nothing the RateLimit and X-RateLimit fields are read
	waits  []string // fields with the wait after a refusal
	rules  []rule   // that go before the common ones

	used   func(*answer) throttle.Cost // by a call that was answered
	charge func(request) throttle.Cost
}

// rule returns the rule that judges a, which must be an error.
func (s *speaker) rule(a *answer) *rule {
	for _, rules := range [...][]rule{s.rules, tables.common} {
		for i := range rules {
			if rules[i].fits(a) {
				return &rules[i]
			}
		}
	}
	return &tables.common[len(tables.common)-1]
}

// tables holds every constant table. The dialects are in the order in which Auto tries them: those with a format of their own
// before those that others imitate.
var tables = newTables() //nolint:gochecknoglobals // tables

type allTables struct {
	speakers []*speaker
	byName   map[Name]*speaker
	generic  *speaker
	marks    marks
	hosts    hosts
	common   []rule
	gauges   []gauge
	levels   fields // without one, no gauge says anything
}

func newTables() *allTables {
	t := &allTables{common: common(), gauges: plainGauges(), byName: map[Name]*speaker{}}
	t.marks.place, t.hosts.tops, t.hosts.domains = map[string]int{}, map[string]bool{}, map[string]*speaker{}
	for _, group := range [][]speaker{{anthropic(), azure(), gemini()}, inference(), services(), {openAI()}, standard()} {
		for i := range group {
			s := &group[i]
			if s.used == nil {
				s.used = tokensUsed
			}
			if s.charge == nil {
				s.charge = chargeSum
			}
			t.marks.add(s, len(t.speakers))
			t.hosts.add(s)
			t.speakers = append(t.speakers, s)
			t.byName[s.name] = s
			t.notice(s.gauges)
		}
	}
	t.generic = t.byName[Generic]
	t.notice(t.gauges)
	t.levels.add("Ratelimit")
	return t
}

// notice adds the fields without which gauges say nothing.
func (t *allTables) notice(gauges []gauge) {
	for i := range gauges {
		t.levels.add(cmp.Or(gauges[i].share, gauges[i].remaining))
	}
}

func tokensUsed(a *answer) throttle.Cost { return a.doc.usage.tokens() }

// plainGauges returns the fields of services that follow a standard, a draft or common practice.
func plainGauges() []gauge {
	return append([]gauge{
		{limit: "Ratelimit-Limit", remaining: "Ratelimit-Remaining", reset: "Ratelimit-Reset"},
		{limit: "X-Ratelimit-Limit", remaining: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset"},
		{limit: "X-Rate-Limit-Limit", remaining: "X-Rate-Limit-Remaining", reset: "X-Rate-Limit-Reset"},
	}, openAIGauges()...)
}

// standard are the dialects that are not one provider's.
func standard() []speaker {
	return []speaker{
		{name: IETF, marks: []string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit"}, shape: func(d *document) bool {
			return d.shape.all(hasProblemType)
		}},
		{name: Generic},
	}
}
