package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	p, err := Parse([]byte(`=== RUN   TestOvershoot
=== RUN   TestOvershoot/headrace
=== ATTR  TestOvershoot/headrace in-worst-second 100
--- PASS: TestOvershoot (0.00s)
=== ATTR  TestAlone whatever 1
PASS
goos: linux
BenchmarkAllow/headrace-2         	 1000000	        54.50 ns/op	       0 B/op	       0 allocs/op
BenchmarkAllow/x-time-rate-2      	 1000000	       120 ns/op
BenchmarkKeys/keys=100/headrace   	      10	        81 ns/op	       310.5 B/key
BenchmarkStream/rill-2 	 1	  13.25 peak-MB	 400 ns/item
BenchmarkNobody-2 	 1	  1 ns/op
PASS
`))
	require.NoError(t, err)
	assert.Equal(t, Pass{
		{"Overshoot", "headrace", "in-worst-second"}: 100,
		{"Allow", "headrace", "ns/op"}:               54.5,
		{"Allow", "headrace", "B/op"}:                0,
		{"Allow", "headrace", "allocs/op"}:           0,
		{"Allow", "x-time-rate", "ns/op"}:            120,
		{"Keys/keys=100", "headrace", "ns/op"}:       81,
		{"Keys/keys=100", "headrace", "B/key"}:       310.5,
		{"Stream", "rill", "peak-MB"}:                13.25,
		{"Stream", "rill", "ns/item"}:                400,
	}, p)
}

func TestParseRefuses(t *testing.T) {
	for _, output := range []string{
		"=== ATTR  TestX/headrace unit\n",
		"=== ATTR  TestX/headrace unit many\n",
		"BenchmarkX/headrace-2 1 many ns/op\n",
	} {
		_, err := Parse([]byte(output))
		require.Error(t, err, output)
	}
}
