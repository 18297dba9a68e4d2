// Package rules reads the configuration of the service and says which limits apply to a
// scope and a resource.
package rules

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// Rule is the limits of a scope and a resource.
type Rule struct {
	Name            string
	Scope, Resource string // empty: of all that have no rule of their own
	Limits          throttle.Limits
	OneShot         bool          // it never refills
	MinWait         time.Duration // the shortest RetryAfter of a refused check
}

// Set is the rules of one configuration. It is immutable.
type Set struct {
	exact    map[pair]*Rule
	scopes   map[string]*Rule
	known    map[string]bool // the scopes of exact and scopes
	fallback *Rule
	costs    map[string]int64
	all      []*Rule
}

type pair struct{ scope, resource string }

// Resolve returns the rule of a scope and a resource: that of both, that of the scope, or
// the default of all.
func (s *Set) Resolve(scope, resource string) *Rule {
	if r := s.exact[pair{scope, resource}]; r != nil {
		return r
	}
	if r := s.scopes[scope]; r != nil {
		return r
	}
	return s.fallback
}

// Cost returns what one token of a resource takes from a limit; 1 unless it is configured.
func (s *Set) Cost(resource string) int64 {
	if n := s.costs[resource]; n > 0 {
		return n
	}
	return 1
}

// All returns the rules in the order of the file, with the default last.
func (s *Set) All() []*Rule { return s.all }

// Costs returns the configured costs.
func (s *Set) Costs() map[string]int64 { return s.costs }

// Knows reports whether a scope is configured, for the labels of metrics.
func (s *Set) Knows(scope string) bool {
	return s.known[scope]
}
