package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// The display counts what was sent.
func TestLinesThatAreNotSentAreNoCalls(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"measured": {"--tpm", "1000"}, "fixed": {"--tpm", "1000", "--law", "fixed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, providertest.Config{})
			p.write("r.jsonl", strings.Repeat("nonsense\n", 10)+request(0)+strings.Repeat("nonsense\n", 190)+strings.Replace(request(1), "Tell", strings.Repeat("Tell ", 2000), 1))
			status, _, errs := p.run(args...)
			require.Equal(t, 1, status, errs)
			assert.Equal(t, 1, p.provider.Counts().Arrivals)
			assert.Regexp(t, `limiter provider: 1 call\b`, errs)
		})
	}
}
