package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJudge(t *testing.T) {
	ours, peer := Key{"Op", "headrace", "ns/op"}, Key{"Op", "peer", "ns/op"}
	passes := func(pairs ...float64) (list []Pass) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, Pass{ours: pairs[i], peer: pairs[i+1]})
		}
		return list
	}
	for about, c := range map[string]struct {
		of     Target
		passes []Pass
		want   Status
	}{
		"nobody measured it":           {Target{Figure: ours, Most: 1}, nil, Unmeasured},
		"only the peer was measured":   {Target{Figure: ours, Against: peer, Most: 1}, []Pass{{peer: 1}}, Unmeasured},
		"exactly the bound":            {Target{Figure: ours, Most: 3}, passes(3, 1), Met},
		"above the bound":              {Target{Figure: ours, Most: 3}, passes(3.01, 1), Missed},
		"nothing allowed":              {Target{Figure: ours}, passes(0, 1), Met},
		"nothing allowed, one seen":    {Target{Figure: ours, Always: true}, passes(0, 1, 1, 1, 0, 1), Missed},
		"the ratio, not the figure":    {Target{Figure: ours, Against: peer, Most: 0.6}, passes(50, 100), Met},
		"the ratio is above":           {Target{Figure: ours, Against: peer, Most: 0.6}, passes(61, 100), Missed},
		"the difference is the bound":  {Target{Figure: ours, Against: peer, Most: 20, More: true}, passes(80, 60), Met},
		"the difference is above":      {Target{Figure: ours, Against: peer, Most: 20, More: true}, passes(81, 60), Missed},
		"less than the peer":           {Target{Figure: ours, Against: peer, Most: 20, More: true}, passes(1, 0), Met},
		"the peer was not measured":    {Target{Figure: ours, Against: peer, Most: 20, More: true}, []Pass{{ours: 1}}, Unmeasured},
		"the median forgives one pass": {Target{Figure: ours, Against: peer, Most: 0.6}, passes(50, 100, 90, 100, 55, 100), Met},
		"the worst pass does not":      {Target{Figure: ours, Against: peer, Most: 0.6, Always: true}, passes(50, 100, 90, 100, 55, 100), Missed},
	} {
		t.Run(about, func(t *testing.T) {
			status, _ := c.of.Judge(c.passes)
			assert.Equal(t, c.want, status)
		})
	}
}

func TestBound(t *testing.T) {
	assert.Equal(t, "<= 32 peak-MB", Target{Figure: Key{"Stream", "headrace", "peak-MB"}, Most: 32}.Bound())
	assert.Equal(t, "<= net-http + 20 allocs/op", Target{
		Figure: Key{"Request/http1", "httpclient", "allocs/op"}, Against: Key{"Request/http1", "net-http", "allocs/op"}, Most: 20, More: true,
	}.Bound())
	assert.Equal(t, "<= 0.35x x-time-rate", Target{
		Figure: Key{"ThreeWindows", "headrace", "ns/op"}, Against: Key{"ThreeWindows", "x-time-rate", "ns/op"}, Most: 0.35,
	}.Bound())
}

// A target that no table shows could not be looked into.
func TestEveryTargetHasATable(t *testing.T) {
	shown := map[string]bool{"LoweredHistory": true} // a yes or no
	for _, s := range Sections() {
		shown[s.Op] = true
	}
	for _, target := range Targets() {
		op, _, _ := strings.Cut(target.Figure.Op, "/")
		assert.True(t, shown[op], target.Claim)
	}
}
