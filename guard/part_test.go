package guard_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

func TestWhatCannotBeAShare(t *testing.T) {
	for name, p := range map[string]guard.Policy{
		"negative":           {Share: -0.5},
		"more than all":      {Share: 1.01},
		"no number":          {Share: math.NaN()},
		"endless":            {Share: math.Inf(1), Law: adaptive.Measured{Prior: perSecond(10)}},
		"of a preset":        {Share: 4, Preset: presets.OpenAITier1},
		"of what AIMD finds": {Share: 0.25, Law: adaptive.AIMD{}},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.Validate()
			require.Error(t, err)
			var field *fault.FieldError
			require.ErrorAs(t, err, &field)
			assert.Equal(t, "Share", field.Field)
			assert.Regexp(t, `use a number in \(0, 1\]|set a Preset`, field.Problem)
			assert.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 1, "one problem is told once")
		})
	}
}

func TestWhatAShareIsOf(t *testing.T) {
	for name, p := range map[string]guard.Policy{
		"what is learned":         {Share: 0.25},
		"all, which is no part":   {Share: 1, Law: adaptive.AIMD{}},
		"what a law finds":        {Share: 0.25, Law: adaptive.Measured{Prior: perSecond(10)}},
		"a preset":                {Share: 0.25, Preset: presets.OpenAITier1},
		"a preset of AIMD":        {Share: 0.25, Preset: presets.OpenAITier1, Law: adaptive.AIMD{}},
		"all":                     {Share: 1},
		"what an inner one finds": {Share: 0.25, Within: []*guard.Guard{made(t, guard.Policy{})}},
	} {
		t.Run(name, func(t *testing.T) { assert.NoError(t, p.Validate()) })
	}
}

// A guard of a part learns from its first call on, by itself: until a 429 it would take what is for others.
func TestAShareLearnsFromTheBeginning(t *testing.T) {
	outer := made(t, guard.Policy{})
	assert.Zero(t, outer.Stats().View.Concurrency, "it has not started")
	assert.Positive(t, made(t, guard.Policy{Share: 0.25}).Stats().View.Concurrency)
	assert.Positive(t, made(t, guard.Policy{Share: 0.25, Within: []*guard.Guard{outer}}).Stats().View.Concurrency)
	assert.Zero(t, made(t, guard.Policy{Share: 1}).Stats().View.Concurrency, "all of it is no part")
}

// When the part changes, the controller is replaced, because it learned with the old part.
func TestSetChangesTheShare(t *testing.T) {
	g := made(t, guard.Policy{Law: adaptive.Measured{}, Share: 0.5})
	call := g.Begin(throttle.Cost{})
	_, err := call.Admit(t.Context())
	require.NoError(t, err)
	_, _ = call.End(adaptive.Feedback{Verdict: adaptive.Hit})
	require.EqualValues(t, 1, g.Stats().View.Hits)
	require.NoError(t, g.Set(guard.Policy{Law: adaptive.Measured{}, Share: 0.5, MaxWait: time.Minute}))
	assert.EqualValues(t, 1, g.Stats().View.Hits)
	require.NoError(t, g.Set(guard.Policy{Law: adaptive.Measured{}, Share: 0.25}))
	assert.Zero(t, g.Stats().View.Hits)
}
