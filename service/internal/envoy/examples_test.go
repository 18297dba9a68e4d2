package envoy_test

import (
	"math"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// step sends equal requests and says how many are admitted.
type step struct {
	descriptors []string
	send, admit int
	remaining   []uint32 // of the last answer; nil: not looked at
}

// The examples of the README of envoyproxy/ratelimit, with names of our own, and the
// answers that it documents. They are asked by a real client.
func TestDocumentedExamples(t *testing.T) {
	d := func(all ...string) []string { return all }
	const unlimited = math.MaxUint32
	for name, tc := range map[string]struct {
		yaml  string
		steps []step
	}{
		"1: two values of one key": {
			yaml: `
domain: shop
descriptors:
  - {key: table, value: orders, rate_limit: {unit: second, requests_per_unit: 500}}
  - {key: table, value: items, rate_limit: {unit: second, requests_per_unit: 500}}
`,
			steps: []step{
				{descriptors: d("table=orders"), send: 502, admit: 500},
				{descriptors: d("table=items"), send: 501, admit: 500},
				{descriptors: d("table=others"), send: 600, admit: 600},
			},
		},
		"2: nested, of any value, and both at once": {
			yaml: `
domain: shop
descriptors:
  - key: kind
    value: newsletter
    descriptors:
      - {key: to, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: to, rate_limit: {unit: day, requests_per_unit: 100}}
`,
			steps: []step{
				{descriptors: d("kind=newsletter, to=ann"), send: 6, admit: 5},
				{descriptors: d("kind=newsletter, to=bob"), send: 6, admit: 5},
				{descriptors: d("kind=receipt, to=bob"), send: 200, admit: 200},
				{descriptors: d("to=ann"), send: 95, admit: 95},
				{descriptors: d("kind=newsletter, to=eve", "to=eve"), send: 6, admit: 5, remaining: []uint32{0, 95}},
				{descriptors: d("kind=receipt, to=ann", "to=ann"), send: 6, admit: 5, remaining: []uint32{0, 0}},
			},
		},
		"3: a value before any value": {
			yaml: `
domain: shop
descriptors:
  - {key: address, rate_limit: {unit: second, requests_per_unit: 10}}
  - {key: address, value: 192.0.2.7, rate_limit: {unit: second, requests_per_unit: 0}}
`,
			steps: []step{
				{descriptors: d("address=192.0.2.1"), send: 11, admit: 10},
				{descriptors: d("address=192.0.2.2"), send: 11, admit: 10},
				{descriptors: d("address=192.0.2.7"), send: 3, admit: 0, remaining: []uint32{0}},
			},
		},
		"4: a deeper request does not match": {
			yaml: `
domain: shop
descriptors:
  - {key: tier, value: gold, rate_limit: {unit: second, requests_per_unit: 300}}
`,
			steps: []step{
				{descriptors: d("tier=gold, customer=ann"), send: 301, admit: 301},
				{descriptors: d("tier=gold"), send: 301, admit: 300},
			},
		},
		"4: of the same depth it does": {
			yaml: `
domain: shop
descriptors:
  - key: tier
    value: gold
    descriptors:
      - {key: customer, rate_limit: {unit: second, requests_per_unit: 300}}
`,
			steps: []step{
				{descriptors: d("tier=gold, customer=ann"), send: 301, admit: 300},
				{descriptors: d("tier=gold"), send: 301, admit: 301},
			},
		},
		"5: unlimited": {
			yaml: `
domain: shop
descriptors:
  - {key: intern, rate_limit: {unlimited: true}}
  - {key: extern, rate_limit: {unit: minute, requests_per_unit: 100}}
`,
			steps: []step{
				{descriptors: d("intern=x"), send: 200, admit: 200, remaining: []uint32{unlimited}},
				{descriptors: d("extern=x"), send: 101, admit: 100, remaining: []uint32{0}},
				{descriptors: d("unknown=x"), send: 200, admit: 200, remaining: []uint32{0}},
			},
		},
		"6: shadow_mode of a rule": {
			yaml: `
domain: shop
descriptors:
  - key: backend
    descriptors:
      - {key: user, value: ann, rate_limit: {unit: second, requests_per_unit: 10}, shadow_mode: true}
      - {key: user, value: bob, rate_limit: {unit: second, requests_per_unit: 20}}
`,
			steps: []step{
				{descriptors: d("backend=login, user=ann"), send: 30, admit: 30, remaining: []uint32{0}},
				{descriptors: d("backend=login, user=bob"), send: 30, admit: 20},
			},
		},
		"7: replaces": {
			yaml: `
domain: shop
descriptors:
  - key: group
    value: read
    descriptors:
      - {key: user, value: ann, rate_limit: {name: readers, unit: second, requests_per_unit: 5}}
  - key: path
    value: /list
    descriptors:
      - {key: user, value: ann, rate_limit: {replaces: [{name: readers}], unit: second, requests_per_unit: 10}}
`,
			steps: []step{
				{descriptors: d("group=read, user=ann", "path=/list, user=ann"), send: 11, admit: 10},
				{descriptors: d("group=read, user=ann"), send: 6, admit: 5},
				{descriptors: d("path=/list, user=ann"), send: 1, admit: 0},
			},
		},
		"8: detailed_metric changes no limit": {
			yaml: `
domain: shop
descriptors:
  - {key: page, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: page, value: home, rate_limit: {unit: minute, requests_per_unit: 20}}
`,
			steps: []step{
				{descriptors: d("page=a"), send: 21, admit: 10},
				{descriptors: d("page=b"), send: 21, admit: 10},
				{descriptors: d("page=home"), send: 21, admit: 20},
			},
		},
		"9: wildcards": {
			yaml: `
domain: shop
descriptors:
  - {key: page, value: item*, rate_limit: {unit: minute, requests_per_unit: 20}}
  - {key: path, value: /v1/*/buy, rate_limit: {unit: minute, requests_per_unit: 20}}
  - {key: path, value: /v2/*/of/*/buy, rate_limit: {unit: minute, requests_per_unit: 20}}
`,
			steps: []step{
				{descriptors: d("page=item1"), send: 21, admit: 20},
				{descriptors: d("page=item2"), send: 21, admit: 20},
				{descriptors: d("page=home"), send: 21, admit: 21},
				{descriptors: d("path=/v1/123/buy"), send: 21, admit: 20},
				{descriptors: d("path=/v1/124/buy"), send: 21, admit: 20},
				{descriptors: d("path=/v1/123/sell"), send: 21, admit: 21},
				{descriptors: d("path=/v2/a/of/b/buy"), send: 21, admit: 20},
				{descriptors: d("path=/v2/a/buy"), send: 21, admit: 21},
			},
		},
		"10: value_to_metric changes no limit": {
			yaml: `
domain: shop
descriptors:
  - key: path
    value_to_metric: true
    descriptors:
      - key: method
        value_to_metric: true
        descriptors:
          - {key: user, rate_limit: {unit: minute, requests_per_unit: 60}}
`,
			steps: []step{
				{descriptors: d("path=/a, method=GET, user=ann"), send: 61, admit: 60},
				{descriptors: d("path=/b, method=PUT, user=ann"), send: 61, admit: 60},
			},
		},
		"10: and wildcards": {
			yaml: `
domain: shop
descriptors:
  - key: user
    value_to_metric: true
    descriptors:
      - key: action
        value: read*
        value_to_metric: true
        descriptors:
          - {key: file, rate_limit: {unit: minute, requests_per_unit: 100}}
`,
			steps: []step{
				{descriptors: d("user=ann, action=readdir, file=x"), send: 101, admit: 100},
				{descriptors: d("user=ann, action=read, file=x"), send: 101, admit: 100},
				{descriptors: d("user=ann, action=write, file=x"), send: 101, admit: 101},
			},
		},
		"11: share_threshold": {
			yaml: `
domain: shop
descriptors:
  - {key: file, value: docs/*, share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: media, value: media/*, share_threshold: false, rate_limit: {unit: hour, requests_per_unit: 10}}
`,
			steps: []step{
				{descriptors: d("file=docs/a.pdf"), send: 5, admit: 5},
				{descriptors: d("file=docs/b.csv"), send: 5, admit: 5},
				{descriptors: d("file=docs/c.txt"), send: 1, admit: 0},
				{descriptors: d("media=media/a.pdf"), send: 11, admit: 10},
				{descriptors: d("media=media/b.csv"), send: 11, admit: 10},
			},
		},
		"11: of a rule above the limit": {
			yaml: `
domain: shop
descriptors:
  - key: path
    value: api/*
    share_threshold: true
    value_to_metric: true
    descriptors:
      - {key: method, rate_limit: {unit: minute, requests_per_unit: 60}}
`,
			steps: []step{
				{descriptors: d("path=api/v1, method=GET"), send: 40, admit: 40},
				{descriptors: d("path=api/v2, method=GET"), send: 40, admit: 20},
				{descriptors: d("path=api/v2, method=PUT"), send: 61, admit: 60},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := dial(t, serve(t, tc.yaml).Service)
			for i, s := range tc.steps {
				admitted := 0
				var last *rls.RateLimitResponse
				for range s.send {
					var err error
					last, err = client.ShouldRateLimit(t.Context(), request("shop", s.descriptors...))
					require.NoError(t, err)
					require.Len(t, last.GetStatuses(), len(s.descriptors))
					if last.GetOverallCode() == ok {
						admitted++
					} else {
						require.Contains(t, codes(last), over)
					}
				}
				assert.Equal(t, s.admit, admitted, "step %d: %v", i, s.descriptors)
				if s.remaining != nil {
					assert.Equal(t, s.remaining, remaining(last), "step %d: %v", i, s.descriptors)
				}
			}
		})
	}
}
