package headrace_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
)

// What a successful answer says is left is no reason to send nothing for days,
// nor to hold back for good what may be estimated as too large.
func TestMetersDelayACallByADayAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		unit, limit, remaining, reset string
		most                          time.Duration
	}{
		"a reset in a month":          {"Tokens", "100", "0", "744h", 24 * time.Hour},
		"a reset in microseconds":     {"Requests", "100", "0", "1763846400000000", 24 * time.Hour},
		"a limit below the estimate":  {"Tokens", "30000", "29990", "20ms", time.Minute},
		"a limit of 1":                {"Tokens", "1", "1", "1s", time.Minute},
		"a limit of 1, which is gone": {"Tokens", "1", "0", "30s", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
					resp := answer(http.StatusOK, "", `{}`)
					resp.Header.Set("X-Ratelimit-Limit-"+c.unit, c.limit)
					resp.Header.Set("X-Ratelimit-Remaining-"+c.unit, c.remaining)
					resp.Header.Set("X-Ratelimit-Reset-"+c.unit, c.reset)
					return resp, nil
				}), presets.OpenAITier1, headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{MaxWait: 1000 * time.Hour}))
				client := &http.Client{Transport: rt}
				read(t, post(t, client, secretURL, `{}`)) //nolint:bodyclose // read does
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 800*time.Hour)
				defer cancel()
				const request = `{"messages":["hi"],"max_tokens":32768}`
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, secretURL, strings.NewReader(request))
				require.NoError(t, err)
				resp, err := client.Do(req)
				if assert.NoError(t, err) {
					read(t, resp)
				}
				assert.LessOrEqual(t, time.Since(began), c.most)
			})
		})
	}
}
