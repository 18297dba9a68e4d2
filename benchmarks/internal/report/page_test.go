package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	passes := []Pass{
		{
			{"Blocked/waiters=100000", "headrace", "ns/op"}: 90, {"Blocked/waiters=100000", "peer", "ns/op"}: 100,
			{"Blocked/waiters=9", "headrace", "ns/op"}: 30, {"Blocked/waiters=9", "peer", "ns/op"}: 20,
			{"Blocked/waiters=9", "headrace", "allocs/op"}: 0, {"BlockedNot", "headrace", "ns/op"}: 1,
		},
		{
			{"Blocked/waiters=100000", "headrace", "ns/op"}: 100, {"Blocked/waiters=100000", "peer", "ns/op"}: 200,
			{"Blocked/waiters=9", "headrace", "ns/op"}: 30, {"Blocked/waiters=9", "peer", "ns/op"}: 20,
		},
	}
	var page bytes.Buffer
	Section{Title: "Turns", Text: "What it is.", Op: "Blocked", Unit: "ns/op", Reference: "peer"}.table(&page, passes)
	assert.Equal(t, `
### Turns

What it is.

|  | 9 waiters | 100,000 waiters |
| --- | ---: | ---: |
| peer | 1 | 1 |
| headrace | 1.50 | 0.70 (0.50..0.90) |
`, page.String())

	page.Reset()
	Section{Title: "Figures", Op: "Blocked/waiters=9", Unit: "ns/op"}.table(&page, passes)
	assert.Empty(t, page.String(), "a section's operation has no parameters")

	page.Reset()
	Section{Title: "Figures", Op: "BlockedNot", Unit: "ns/op", Extra: []string{"B/op"}}.table(&page, passes)
	assert.Equal(t, `
### Figures

|  | ns/op | B/op |
| --- | ---: | ---: |
| headrace | 1 |  |
`, page.String())
}

func TestPage(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, Write(&page, Machine{
		Cores: 2, System: "linux/amd64", Go: "go1.26", Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		Modules: []string{"example.com/peer v1.2.3"},
	}, []Pass{{
		{"Allow", "headrace", "ns/op"}: 50, {"Allow", "x-time-rate", "ns/op"}: 100,
		{"Allow", "headrace", "allocs/op"}: 1,
	}}))
	for _, line := range []string{
		"not by hand: 2026-01-02, 2 cores, linux/amd64, go1.26, 1 passes.\n",
		"| Allow, a bucket | <= 0.46x x-time-rate | 0.50 | **missed** |\n",
		"| Allow allocates nothing | <= 0 allocs/op | 1 | **missed** |\n",
		"| peak resident memory of 1,000,000 streamed items | <= 32 peak-MB |  | not measured |\n",
		"| Allow | headrace | ns/op | 50 |\n",
		"- example.com/peer v1.2.3\n",
	} {
		assert.Contains(t, page.String(), line)
	}
}

func TestParameterName(t *testing.T) {
	assert.Equal(t, "1 waiter", parameterName("waiters=1"))
	assert.Equal(t, "100,000 keys", parameterName("keys=100000"))
	assert.Equal(t, "cold", parameterName("cold"))
}
