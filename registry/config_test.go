package registry_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

func TestParse(t *testing.T) {
	c, err := registry.Parse(`Default: 1/s; ols: 4/s; bioportal: 2/s, 100/min; "http://localhost:8080": unlimited; ncbi/eutils: 3 concurrent`)
	require.NoError(t, err)
	spec := func(s string) registry.Spec { return registry.Spec{Limits: limits(t, s)} }
	assert.Equal(t, registry.Config{
		Default: registry.Spec{Limits: limits(t, "1/s")},
		Guards: map[string]registry.Spec{
			"ols": spec("4/s"), "bioportal": spec("2/s, 100/min"), "http://localhost:8080": spec("unlimited"),
			"ncbi/eutils": spec("3 concurrent"),
		},
	}, c)
	assert.Equal(t, "3 concurrent", newRegistry(t, c).For("ncbi", "eutils").Stats().Limits.String())
}

func TestParseReportsEveryProblem(t *testing.T) {
	for text, want := range map[string]string{
		"ols: 4/sek;\n bioportal: x/min": `registry: line 1:8: guards.ols.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m
registry: line 2:13: guards.bioportal.limits: "x": it does not begin a limit: write one such as 5/s, bucket 10/s burst 20, fixed 10000/day@UTC or 8 concurrent`,
		`default: 4/sek`:             `registry: line 1:12: default.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		`a: 1/s; " b;:": 1/s; x`:     `registry: line 1:22: "x": a key and a colon are missing, as in "ols: 5/s"; write a comma between the limits of one key, and quote a key that holds a comma`,
		`x`:                          `registry: line 1:1: "x": a key and a colon are missing, as in "ols: 5/s"; write a comma between the limits of one key, and quote a key that holds a comma`,
		"crawl: 20":                  "registry: line 1:10: guards.crawl.limits: a / and a period are missing, as in 5/s; a number holds no commas or spaces",
		"a: 1/s; ols: 0/s; b: 1/s":   `registry: line 1:9: guards.ols.limits: 0 is not between 1 and 1099511627776`,
		"ols: 4/s\nbioportal : 2/s":  `registry: line 2:1: guards.ols.limits: "bioportal": another key begins here: write a semicolon before it`,
		"a: 1/s; 'b': 1/s; 'B': 1/s": `registry: line 1:9: guards["'b'"]: the name "'b'" occurs twice (case and surrounding space do not matter): leave one out`,
		"ols: 4/s; OLS: 5/s":         `registry: line 1:1: guards.ols: the name "ols" occurs twice (case and surrounding space do not matter): leave one out`,
		"default: unlimited; Default: 5/s; DEFAULT: unlimited": `registry: line 1:35: default: the name "default" occurs twice (case and surrounding space do not matter): leave one out`,
		`*: 4/s; "": 5/s`: `registry: line 1:1: guards["*"]: a template has a name before a slash, such as crawl/*: for all names set default
registry: line 1:9: guards[""]: the name is empty: write one such as "openai"`,
	} {
		_, err := registry.Parse(text)
		assert.EqualError(t, err, want, text)
	}
}

func TestSpecs(t *testing.T) {
	profile, err := presets.Lookup("openai/tier1/gpt-4o-mini")
	require.NoError(t, err)
	half, err := profile.Scaled(0.5)
	require.NoError(t, err)
	const id = "OpenAI/tier1/gpt-4o-mini"
	four := throttle.Sliding(4, time.Second)
	const unbounded = 1 << 30
	for about, tc := range map[string]struct {
		spec        registry.Spec
		limits      throttle.Limits
		concurrency int // that the controller begins with; 0: it waits for a rejected call
	}{
		"nothing":                      {registry.Spec{}, throttle.Limits{}, 0},
		"limits":                       {registry.Spec{Limits: limits(t, "4/s, 9 concurrent"), Law: registry.Measured}, limits(t, "4/s, 9 concurrent"), 0},
		"a preset is where it starts":  {registry.Spec{Preset: id}, throttle.Limits{}, 200},
		"with caps":                    {registry.Spec{Preset: id, Limits: limits(t, "4/s, 2 concurrent")}, limits(t, "4/s, 2 concurrent"), 200},
		"aimd keeps the preset":        {registry.Spec{Preset: id, Law: registry.AIMD}, profile.Limits, 5},
		"aimd within a concurrency":    {registry.Spec{Law: registry.AIMD, Limits: limits(t, "3 concurrent")}, limits(t, "3 concurrent"), 3},
		"fixed keeps the preset":       {registry.Spec{Preset: id, Law: registry.Fixed, Limits: limits(t, "8 concurrent")}, throttle.Limits{Concurrency: 8, Windows: profile.Limits.Windows}, unbounded},
		"fixed keeps a share":          {registry.Spec{Preset: id, Share: 0.5, Law: registry.Fixed}, half.Limits, unbounded},
		"fixed keeps a share and more": {registry.Spec{Preset: id, Share: 0.5, Law: registry.Fixed, Limits: limits(t, "4/s")}, throttle.Limits{Windows: append([]throttle.Window{four}, half.Limits.Windows...)}, unbounded},
	} {
		t.Run(about, func(t *testing.T) {
			r := newRegistry(t, registry.Config{Guards: map[string]registry.Spec{"x": tc.spec}})
			assert.Equal(t, tc.limits, r.Get("x").Stats().Limits)
			assert.Equal(t, tc.concurrency, r.Get("x").Stats().View.Concurrency)
		})
	}
}

func TestTheLawFixedLearnsNothing(t *testing.T) {
	r := newRegistry(t, registry.Config{Guards: map[string]registry.Spec{
		"x": {Law: registry.Fixed, Limits: limits(t, "9/s, 6 concurrent")},
	}})
	g := r.Get("x")
	before := g.Stats().View.Concurrency
	answered(t, g, adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Minute})
	v := g.Stats().View
	assert.Equal(t, before, v.Concurrency)
	assert.True(t, v.GateUntil.After(time.Now()), "but it waits")
}

func TestMaxWaitIsThatOfTheSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, registry.Config{Default: registry.Spec{MaxWait: time.Second}})
		begin := time.Now()
		assert.ErrorAs(t, do(t.Context(), r.For("x"), refused), new(*adaptive.RateLimitHit))
		assert.Equal(t, time.Second, time.Since(begin))
	})
}

// The dialect of the entry, or of its preset, reads what the provider says.
func TestTheDialectJudges(t *testing.T) {
	asked := func(t *testing.T, spec registry.Spec) time.Duration {
		t.Helper()
		spec.MaxWait = time.Millisecond
		g := newRegistry(t, registry.Config{Default: spec}).For("x")
		err := do(t.Context(), g, func(context.Context) error { return geminiError{} })
		hit, ok := errors.AsType[*adaptive.RateLimitHit](err)
		require.True(t, ok, "%v", err)
		return hit.RetryAfter
	}
	synctest.Test(t, func(t *testing.T) {
		for about, spec := range map[string]registry.Spec{
			"named":         {Dialect: "Gemini"},
			"of the preset": {Preset: preset(t, dialect.Gemini)},
			"before that":   {Preset: preset(t, dialect.OpenAI), Dialect: dialect.Gemini},
		} {
			assert.Equal(t, 34*time.Second, asked(t, spec), about)
		}
		assert.Zero(t, asked(t, registry.Spec{}))
	})
}

// preset is the name of one that speaks a dialect.
func preset(t *testing.T, d dialect.Name) presets.ID {
	t.Helper()
	for id, p := range presets.Default().All() {
		if p.Dialect == d && p.Kind == presets.KindLimits {
			return id
		}
	}
	t.Fatal("no preset speaks", d)
	return ""
}

// geminiError is a refusal that tells the wait in its body only.
type geminiError struct{}

func (geminiError) Error() string   { return "refused" }
func (geminiError) StatusCode() int { return http.StatusTooManyRequests }

func (geminiError) RawJSON() string {
	return `{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
		{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}`
}

func TestEachPresetMakesALimiter(t *testing.T) {
	for id, p := range presets.Default().All() {
		if p.Kind == presets.KindUnavailable {
			continue
		}
		for _, law := range []registry.Law{"", registry.AIMD, registry.Fixed} {
			if law == registry.Fixed && p.Limits.Concurrency == 0 && p.Limits.Windows == nil {
				continue
			}
			r, err := registry.New(registry.Config{Default: registry.Spec{Preset: id, Law: law, Share: 0.3}})
			if assert.NoError(t, err, "%s %s", id, law) {
				assert.NotNil(t, r.For("x"))
			}
		}
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	_, preset := presets.Lookup("openai/teir1")
	require.ErrorContains(t, preset, "did you mean openai/tier1")
	_, speaks := dialect.ByName("opnai")
	require.ErrorContains(t, speaks, "did you mean")
	c := registry.Config{
		Default: registry.Spec{Law: "mesured", Limits: throttle.Limits{Concurrency: -1}, Within: []string{"crawl/*"}},
		Guards: map[string]registry.Spec{
			"OpenAI":  {Preset: "openai/teir1", Dialect: "opnai"},
			"openai":  {Share: 0.5, Law: registry.AIMD, MaxWait: -1, Idle: time.Minute},
			"a.org":   {Limits: limits(t, "2000000000 concurrent")},
			"A.org.":  {Preset: "openai/tier1", Share: 80, Timeout: -1},
			"crawl/*": {Idle: -1, Within: []string{"craw", "crawl"}, Retry: -1},
			"crawl":   {MaxQueue: -1},
			"default": {Law: registry.Fixed, Limits: throttle.Limits{Windows: []throttle.Window{{}}}},
			"fixed":   {Law: registry.Fixed},
			"*":       {}, "a/*/b": {}, "/a": {}, "b/": {},
			"x/y": {}, "x": {Within: []string{"z"}}, "z": {Within: []string{"x/y", "z"}},
		},
	}
	err := c.Validate()
	require.Error(t, err)
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		field, ok := errors.AsType[*fault.FieldError](e)
		require.True(t, ok, "%v", e)
		assert.Equal(t, "registry", field.Owner)
		got = append(got, field.Field+": "+field.Problem)
	}
	assert.Equal(t, []string{
		`guards["*"]: a template has a name before a slash, such as crawl/*: for all names set default`,
		`guards["/a"]: the name begins or ends with a slash: write a part before and after it, such as crawl/example.org`,
		`guards["a.org"]: the name "a.org" occurs twice (case and surrounding space do not matter): leave one out`,
		`guards["a/*/b"]: only the last part of a name can be *`,
		`guards["b/"]: the name begins or ends with a slash: write a part before and after it, such as crawl/example.org`,
		`guards.default: the name is that of the template for all names: set default, or take another name`,
		`guards.openai: the name "openai" occurs twice (case and surrounding space do not matter): leave one out`,
		`default.within: "crawl/*" is a template: name a guard`,
		`default.law: "mesured" is not a law: did you mean measured?`,
		`default.limits: throttle: Concurrency: -1 is negative: use 0 for unbounded, or at least 1`,
		`guards["A.org."].timeout: -1ns is negative: use 0 for no timeout`,
		`guards["A.org."].share: 80 is not a fraction of the provider's limit: use a number in (0, 1], or 0 for all of it`,
		`guards.OpenAI.preset: ` + preset.Error(),
		`guards.OpenAI.dialect: ` + speaks.Error(),
		`guards["a.org"].limits: 2000000000 concurrent is too many: write at most 1073741824, or leave it out for no bound`,
		`guards.crawl.max_queue: -1 is negative: use 0 for no bound`,
		`guards["crawl/*"].within: "craw" is not configured: did you mean crawl?`,
		`guards["crawl/*"].retry: retry: MaxAttempts: -1; want at least 1, or 0 for 3`,
		`guards["crawl/*"].idle: -1ns is negative: write a time such as 1h`,
		`guards.default.limits: throttle: Windows[0]: the window is empty: make it with Sliding, Bucket or Fixed`,
		`guards.fixed.law: fixed has nothing to keep: add limits, or a preset that has limits`,
		`guards.openai.max_wait: -1ns is negative: use 0 for the default`,
		`guards.openai.share: 0.5 of an unknown limit: only adaptive.Measured can find its share; set a Preset, or smaller Limits`,
		`guards.openai.idle: only guards of a template are evicted: leave it out, or set it on a name such as crawl/*`,
		`guards.x.within: it is a cycle, x within z within x/y within x: leave "z" out`,
		`guards.z.within: it is a cycle, z within z: leave "z" out`,
	}, got)
	assert.ErrorAs(t, err, new(*presets.UnknownError))

	_, newErr := registry.New(c)
	assert.EqualError(t, newErr, err.Error())
}

// Whatever stands there, there is no panic, and an error has a place in the text.
func FuzzParse(f *testing.F) {
	f.Add("default: 1/s; ols: 4/s, 2 concurrent; \"a;b\": 2/s\nc: 3/s")
	f.Add("'a': 0/s; x; \"")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := registry.Parse(text)
		if err == nil {
			require.NoError(t, newRegistry(t, c).Prewarm())
			return
		}
		lines := strings.Split(text, "\n")
		for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
			at, ok := errors.AsType[*registry.ParseError](e)
			require.True(t, ok, "%T", e)
			require.True(t, at.Line >= 1 && at.Line <= len(lines), "%v", at)
			require.True(t, at.Column >= 1 && at.Column <= len(lines[at.Line-1])+1, "%v", at)
		}
	})
}
