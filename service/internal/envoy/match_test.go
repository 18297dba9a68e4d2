package envoy_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/service/internal/envoy"
)

// node is a rule as a test draws it; limit 0 means none.
type node struct {
	Key         string  `json:"key"`
	Value       string  `json:"value,omitempty"`
	RateLimit   *rate   `json:"rate_limit,omitempty"`
	Descriptors []*node `json:"descriptors,omitempty"`
}

type rate struct {
	Unit            string `json:"unit"`
	RequestsPerUnit int    `json:"requests_per_unit"`
}

// oracle finds the limit as the documentation of envoyproxy/ratelimit words it: level
// by level, first the value, then a wildcard in the order of the file, then the key
// alone; and the request is as deep as the rule. 0 means that there is none.
func oracle(level []*node, entries [][2]string) int {
	if len(entries) == 0 {
		return 0
	}
	key, value := entries[0][0], entries[0][1]
	var best *node
	for rank, fits := range []func(n *node) bool{
		func(n *node) bool { return n.Value != "" && n.Value == value },
		func(n *node) bool {
			return strings.Contains(n.Value, "*") &&
				regexp.MustCompile("(?s)^"+strings.ReplaceAll(regexp.QuoteMeta(n.Value), `\*`, ".*")+"$").MatchString(value)
		},
		func(n *node) bool { return n.Value == "" },
	} {
		for _, n := range level {
			if best == nil && n.Key == key && fits(n) {
				best = n
			}
		}
		_ = rank
	}
	switch {
	case best == nil:
		return 0
	case len(entries) > 1:
		return oracle(best.Descriptors, entries[1:])
	case best.RateLimit == nil:
		return 0
	}
	return best.RateLimit.RequestsPerUnit
}

func TestWildcards(t *testing.T) {
	f := serve(t, `
domain: d
descriptors:
  - {key: k, value: x*x, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: k, value: a*b*b*c, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: k, value: m*, rate_limit: {unit: day, requests_per_unit: 3}}
  - {key: k, value: mn*, rate_limit: {unit: day, requests_per_unit: 4}}
  - {key: k, value: mno, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: k, value: "*z", rate_limit: {unit: day, requests_per_unit: 6}}
  - {key: k, value: "q*", rate_limit: {unit: day, requests_per_unit: 7}}
  - {key: k, rate_limit: {unit: day, requests_per_unit: 9}}
`)
	for value, want := range map[string]uint32{
		"x": 9, "xx": 1, "xyx": 1, "abc": 9, "abbc": 2, "a-b-b-c": 2, "acbbc": 2, "abcb": 9, "m": 3, "mnop": 3, "mno": 5, "z": 6, "qz": 6, "q": 7, "x*x": 1, "": 9,
	} {
		a := f.ask(request("d", "k="+value))
		require.Equal(t, want, a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit(), value)
	}
}

func TestTheMatcherAgainstAnOracle(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "a_b"})
	value := rapid.StringMatching(`[xy*]{0,4}`)
	next := 0
	var level func(t *rapid.T, depth int) []*node
	level = func(t *rapid.T, depth int) (all []*node) {
		taken := map[[2]string]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "rules") {
			n := &node{Key: key.Draw(t, "key"), Value: value.Draw(t, "value")}
			if taken[[2]string{n.Key, n.Value}] {
				continue
			}
			taken[[2]string{n.Key, n.Value}] = true
			if rapid.Bool().Draw(t, "limited") {
				next++
				n.RateLimit = &rate{"hour", next}
			}
			if depth < 3 && rapid.Bool().Draw(t, "nested") {
				n.Descriptors = level(t, depth+1)
			}
			all = append(all, n)
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		next = 0
		rules := level(t, 1)
		yaml, err := json.Marshal(map[string]any{"domain": "d", "descriptors": rules})
		require.NoError(t, err)
		c, _, err := envoy.Parse([]envoy.File{{Name: "f", Data: yaml}})
		require.NoError(t, err, "%s", yaml)
		s, err := envoy.New(envoy.Options{Store: nowhere{}, Settings: envoy.Settings{Config: c}})
		require.NoError(t, err)
		for range 5 {
			var entries [][2]string
			var text []string
			for range rapid.IntRange(1, 3).Draw(t, "entries") {
				e := [2]string{key.Draw(t, "key"), value.Draw(t, "value")}
				entries = append(entries, e)
				text = append(text, e[0]+"="+e[1])
			}
			a, err := s.ShouldRateLimit(t.Context(), request("d", strings.Join(text, ", ")))
			require.NoError(t, err)
			got := int(a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())
			require.Equal(t, oracle(rules, entries), got, "%v in %s", fmt.Sprint(text), yaml)
		}
	})
}
