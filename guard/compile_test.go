package guard_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

func limitsOf(t *testing.T, text string) throttle.Limits {
	t.Helper()
	if text == "" {
		return throttle.Limits{}
	}
	l, err := throttle.ParseLimits(text)
	require.NoError(t, err)
	return l
}

// A preset is where learning starts, or a hard limit if it is a rule, or if the
// controller cannot start from it.
func TestWhatAPresetBecomes(t *testing.T) {
	const crossref = "crossref/polite/single-record"
	for name, tc := range map[string]struct {
		policy guard.Policy
		caps   string
		pace   float64 // requests per second
	}{
		"a start":            {guard.Policy{Preset: presets.OpenAITier1}, "", 500. / 60},
		"in flight too":      {guard.Policy{Preset: crossref}, "", 10},
		"a part of it":       {guard.Policy{Preset: presets.OpenAITier1, Share: 0.5}, "", 250. / 60},
		"limits besides":     {guard.Policy{Preset: presets.OpenAITier1, Limits: limitsOf(t, "100/min")}, "100/min", 500. / 60},
		"a rule":             {guard.Policy{Preset: presets.GenericConservative}, "20/min, 2 concurrent", 20. / 60},
		"a rule and limits":  {guard.Policy{Preset: presets.GenericModerate, Limits: limitsOf(t, "2/s, 3 concurrent")}, "2/s, 60/min, 3 concurrent", 1},
		"looser limits":      {guard.Policy{Preset: presets.GenericModerate, Limits: limitsOf(t, "99/s, 30 concurrent")}, "99/s, 60/min, 5 concurrent", 1},
		"a prior of its own": {guard.Policy{Preset: presets.OpenAITier1, Law: adaptive.Measured{Prior: limitsOf(t, "3/s")}}, "", 3},
		"another law": {
			guard.Policy{Preset: "groq/free", Law: adaptive.AIMD{}},
			"30/min, 1000/day, 6000 tokens/min, 100000 tokens/day", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(t, tc.policy).Stats()
			assert.Equal(t, limitsOf(t, tc.caps).String(), s.Limits.String())
			assert.InEpsilon(t, 1+tc.pace, 1+s.View.Pace[throttle.Requests], 0.03)
		})
	}
}

// providerError is an error that carries a response, as those of SDKs do.
type providerError struct {
	StatusCode int
	Response   *http.Response
	Body       string
}

func (e *providerError) Error() string { return fmt.Sprint("status ", e.StatusCode) }

func answeredWith(status int, body string, header ...string) error {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &providerError{StatusCode: status, Body: body, Response: &http.Response{StatusCode: status, Header: h}}
}

func TestWhatIsAskedAboutAnError(t *testing.T) {
	errBoom := errors.New("boom")
	slowDown := answeredWith(503, `{"error": {"code": "slow_down"}}`) // the default detector takes it for a failure
	secondary := answeredWith(403, `{"message": "You have exceeded a secondary rate limit."}`, "Retry-After", "5")
	mine := func(err error) adaptive.Feedback {
		if errors.Is(err, errBoom) {
			panic("a detector that is broken")
		}
		return adaptive.Feedback{Verdict: adaptive.Terminal}
	}
	within := made(t, guard.Policy{Dialect: dialect.OpenAI})
	for name, tc := range map[string]struct {
		policy guard.Policy
		err    error
		want   adaptive.Verdict
	}{
		"the default":                    {guard.Policy{}, slowDown, adaptive.Transient},
		"the preset's dialect":           {guard.Policy{Preset: presets.OpenAITier1}, slowDown, adaptive.Overloaded},
		"a dialect":                      {guard.Policy{Dialect: dialect.OpenAI}, slowDown, adaptive.Overloaded},
		"which is not another's":         {guard.Policy{Preset: presets.OpenAITier1}, secondary, adaptive.OK},
		"in place of the preset's":       {guard.Policy{Preset: presets.OpenAITier1, Dialect: dialect.GitHub}, secondary, adaptive.Hit},
		"whose name is in any case":      {guard.Policy{Dialect: dialect.Name("GitHub")}, secondary, adaptive.Hit},
		"the detector first":             {guard.Policy{Preset: presets.OpenAITier1, Detector: mine}, slowDown, adaptive.Terminal},
		"unless it panics":               {guard.Policy{Preset: presets.OpenAITier1, Detector: mine}, errors.Join(errBoom, slowDown), adaptive.Overloaded},
		"the default last":               {guard.Policy{Preset: presets.OpenAITier1}, errors.New("429: too many requests"), adaptive.Hit},
		"the dialect of the outer guard": {guard.Policy{Within: []*guard.Guard{within}}, slowDown, adaptive.Overloaded},
	} {
		t.Run(name, func(t *testing.T) {
			call := made(t, tc.policy).Begin(throttle.Cost{})
			ctx, err := call.Admit(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.want, inflight.Of(ctx).Judge(tc.err).Verdict)
		})
	}
}
