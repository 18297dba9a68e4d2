package provider_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/providertest"
)

// Limits are an error, or bounds that are positive.
func FuzzLimits(f *testing.F) {
	f.Fuzz(func(t *testing.T, first, second string) {
		l, err := provider.Limits([]string{first, second})
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, l.Concurrency, 0)
		for _, b := range []providertest.Bucket{l.Rate, l.Tokens, l.InputTokens, l.OutputTokens} {
			if b != (providertest.Bucket{}) {
				require.Positive(t, b.PerSecond)
				require.Positive(t, b.Burst)
			}
		}
		server, err := providertest.New(providertest.Config{Limits: l})
		require.NoError(t, err)
		server.Close()
	})
}

// A range is an error that repeats it, or two numbers in their order.
func FuzzParseRange(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		r, err := provider.ParseRange(text)
		if err != nil {
			wrong, ok := errors.AsType[*provider.LimitError](err)
			require.True(t, ok, "%T", err)
			require.Equal(t, text, wrong.Text)
			return
		}
		require.Positive(t, r.Low)
		require.LessOrEqual(t, r.Low, r.High)
		require.LessOrEqual(t, r.High, 100_000)
	})
}
