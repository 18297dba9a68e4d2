package envoy

import (
	"strings"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headrace/headrace/throttle"
)

// limit is the rate_limit of a rule, or one that a request brought along.
type limit struct {
	path      string // of the rule, such as messaging.message_type=marketing.to_number
	limits    throttle.Limits
	message   *rls.RateLimitResponse_RateLimit // never changed
	span      span
	name      string
	replaces  []string
	unlimited bool
	shadow    bool
}

// pair is a key with a value; a rule without a value has an empty one.
type pair struct{ key, value string }

// rule is an entry of a descriptor list, or a domain.
type rule struct {
	limit   *limit // nil if there is none at this depth
	at      string // the place in the YAML
	pattern string // share_threshold: what is counted instead of the value
	exact   map[pair]*rule
	wild    map[string][]wildcard // by key, in the order of the configuration
}

// wildcard is a rule with a * in its value.
type wildcard struct {
	parts []string // between the *
	rule  *rule
}

// next returns the rule for an entry: the one with its value, the first wildcard that
// matches, or the one without a value; nil if there is none.
func (r *rule) next(key, value string) *rule {
	if value != "" {
		if child := r.exact[pair{key, value}]; child != nil {
			return child
		}
	}
	for _, w := range r.wild[key] {
		if matches(w.parts, value) {
			return w.rule
		}
	}
	return r.exact[pair{key: key}]
}

// matches reports whether value consists of the parts in their order, with anything
// between them. There are at least two.
func matches(parts []string, value string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(value) < len(first)+len(last) || !strings.HasPrefix(value, first) || !strings.HasSuffix(value, last) {
		return false
	}
	value = value[len(first) : len(value)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(value, part)
		if i < 0 {
			return false
		}
		value = value[i+len(part):]
	}
	return true
}

// add puts child under r. It returns the rule that has the same key and value already.
func (r *rule) add(key, value string, child *rule) *rule {
	p := pair{key, value}
	if other := r.exact[p]; other != nil {
		return other
	}
	if r.exact == nil {
		r.exact = map[pair]*rule{}
	}
	r.exact[p] = child
	if strings.Contains(value, "*") {
		if r.wild == nil {
			r.wild = map[string][]wildcard{}
		}
		r.wild[key] = append(r.wild[key], wildcard{strings.Split(value, "*"), child})
	}
	return nil
}

// Config is the rules of all domains. It never changes.
type Config struct {
	domains map[string]*rule
	rules   int
}

// Domains returns how many domains there are.
func (c *Config) Domains() int { return len(c.domains) }

// Rules returns how many rules there are with a limit.
func (c *Config) Rules() int { return c.rules }
