package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

func TestParseJSON(t *testing.T) {
	c, err := registry.ParseJSON([]byte(`{
		"$schema": "https://example.org/schema.json",
		"default": {"limits": "1/s", "idle": "1m"},
		"guards": {
			"openai": {"preset": "openai/tier1", "share": 0.5, "max_wait": "5m", "dialect": "openai"},
			"ols": {"limits": "4/s, 8 concurrent", "law": "fixed", "timeout": "30s", "max_queue": 9},
			"ols/*": {"within": ["openai"], "retry": 3, "breaker": true, "idle": "2m"}
		}
	}`))
	require.NoError(t, err)
	assert.Equal(t, registry.Config{
		Default: registry.Spec{Limits: limits(t, "1/s"), Idle: time.Minute},
		Guards: map[string]registry.Spec{
			"openai": {Preset: "openai/tier1", Share: 0.5, MaxWait: 5 * time.Minute, Dialect: "openai"},
			"ols":    {Limits: limits(t, "4/s, 8 concurrent"), Law: registry.Fixed, Timeout: 30 * time.Second, MaxQueue: 9},
			"ols/*":  {Within: []string{"openai"}, Retry: 3, Breaker: true, Idle: 2 * time.Minute},
		},
	}, c)
	c, err = registry.ParseJSON([]byte("{}"))
	require.NoError(t, err)
	assert.Equal(t, registry.Config{}, c)
}

func TestParseJSONTellsWhereAndWhatInstead(t *testing.T) {
	_, unknown := presets.Lookup("openai/teir1")
	require.ErrorContains(t, unknown, "did you mean openai/tier1")
	in := func(s string) string { return "{\"guards\": {\"ols\": {\n  " + s + "\n}}}" }
	for text, want := range map[string]string{
		``:                               `line 1:1: the text is empty: write guards with their limits, or {} for none`,
		" \n":                            `line 1:1: the text is empty: write guards with their limits, or {} for none`,
		`{"guards": {`:                   `line 1:13: unexpected end of JSON input: a closing bracket or quotation mark is missing`,
		"{\n  default: {}}":              `line 2:3: invalid character 'd' looking for beginning of object key string`,
		`{} {}`:                          `line 1:4: invalid character '{' after top-level value`,
		`[]`:                             `line 1:1: it is a list: write an object such as {"limits": "4/s"}`,
		`{"gards": {}}`:                  `line 1:2: gards: the key is unknown: did you mean guards?`,
		`{"zzz": 1}`:                     `line 1:2: zzz: the key is unknown: the keys here are default, guards, store`,
		`{"guards": []}`:                 `line 1:12: guards: it is a list: write an object with a key for each`,
		`{"guards": {"a": null}}`:        `line 1:18: guards.a: there is no value: write an object such as {"limits": "4/s"}, or leave the key out`,
		`{"guards": {"a": {}, "A": {}}}`: `line 1:18: guards.a: the name "a" occurs twice (case and surrounding space do not matter): leave one out`,
		`{"guards": {"a": {}, "a": {}}}`: `line 1:22: guards.a: the key is given twice: leave one out`,
		`{"default": {"law": "aimd", "law": "aimd"}}`:  `line 1:29: default.law: the key is given twice: leave one out`,
		`{"guards": {"": {}}}`:                         `line 1:17: guards[""]: the name is empty: write one such as "openai"`,
		in(`"limts": "4/s"`):                           `line 2:3: guards.ols.limts: the key is unknown: did you mean limits?`,
		in(`"hosts": {}`):                              `line 2:3: guards.ols.hosts: the key is unknown: the keys here are breaker, dialect, idle, law, limits, max_queue, max_wait, preset, retry, share, store, timeout, within`,
		in(`"retry": 1.5`):                             `line 2:12: guards.ols.retry: 1.5 is not a whole number: write one such as 3`,
		in(`"retry": 0`):                               `line 2:12: guards.ols.retry: 0 would be the default: leave the key out, or write at least 1`,
		in(`"retry": -1`):                              `line 2:12: guards.ols.retry: retry: MaxAttempts: -1; want at least 1, or 0 for 3`,
		in(`"max_queue": -1`):                          `line 2:16: guards.ols.max_queue: -1 is negative: use 0 for no bound`,
		in(`"breaker": "on"`):                          `line 2:14: guards.ols.breaker: it is a text: write true or false`,
		in(`"within": "openai"`):                       `line 2:13: guards.ols.within: it is a text: write a list of names, such as ["openai"]`,
		in(`"within": [3]`):                            `line 2:13: guards.ols.within: 3 is a number: write a text, in quotation marks`,
		in(`"within": ["OSL"]`):                        `line 2:13: guards.ols.within: "osl" is not configured: did you mean ols?`,
		in(`"idle": "1m"`):                             `line 2:11: guards.ols.idle: only guards of a template are evicted: leave it out, or set it on a name such as crawl/*`,
		in(`"limits": 4`):                              `line 2:13: guards.ols.limits: 4 is a number: write limits, such as "4/s, 8 concurrent", in quotation marks`,
		in(`"limits": "4/sek"`):                        `line 2:13: guards.ols.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		in(`"limits": "20"`):                           `line 2:13: guards.ols.limits: "20": a / and a period are missing, as in 5/s; a number holds no commas or spaces`,
		in(`"limits": "-4/s"`):                         `line 2:13: guards.ols.limits: "-4/s": -4 is not between 1 and 1099511627776`,
		in(`"law": "aimed"`):                           `line 2:10: guards.ols.law: "aimed" is not a law: did you mean aimd?`,
		in(`"law": ""`):                                `line 2:10: guards.ols.law: the text is empty: leave the key out`,
		in(`"law": true`):                              `line 2:10: guards.ols.law: it is a yes or no: write a text`,
		in(`"share": "0.5"`):                           `line 2:12: guards.ols.share: "0.5" is a string: write a number, without quotation marks`,
		in(`"max_wait": 90`):                           `line 2:15: guards.ols.max_wait: 90 is a number: write a duration, such as "90s" or "15m", in quotation marks`,
		in(`"max_wait": "90"`):                         `line 2:15: guards.ols.max_wait: "90" is not a duration: write numbers with units of h, m, s or ms, such as 90s or 1h30m`,
		in(`"max_wait": "0s"`):                         `line 2:15: guards.ols.max_wait: "0s" would be the default: leave the key out, or write a time such as 30s`,
		in(`"max_wait": "-1s"`):                        `line 2:15: guards.ols.max_wait: -1s is negative: use 0 for the default`,
		in(`"preset": "openai/teir1"`):                 `line 2:13: guards.ols.preset: ` + unknown.Error(),
		in(`"share": 0.5, "law": "aimd"`):              `line 2:12: guards.ols.share: 0.5 of an unknown limit: only adaptive.Measured can find its share; set a Preset, or smaller Limits`,
		in(`"preset": "openai/tier1", "share": 0`):     `line 2:38: guards.ols.share: 0 would be the default: leave the key out, or write a number above 0 and at most 1`,
		in(`"preset": "openai/tier1", "share": 1e999`): `line 2:38: guards.ols.share: strconv.ParseFloat: parsing "1e999": value out of range`,
		// A problem that follows from another one is not reported.
		in(`"limits": "4/sek", "law": "fixed"`): `line 2:13: guards.ols.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		in(`"presett": "x", "share": 0.5`):      `line 2:3: guards.ols.presett: the key is unknown: did you mean preset?`,
		in(`"preset": "no/pe", "law": "fixed"`): `line 2:13: guards.ols.preset: presets: unknown preset "no/pe": names are provider/tier/model or provider/tier; docs/presets.md and All list them`,
		// All problems come at once, in the order of the text.
		in(`"limts": "4/s", "law": "aimed", "dialect": 3`): `line 2:3: guards.ols.limts: the key is unknown: did you mean limits?
registry: line 2:26: guards.ols.law: "aimed" is not a law: did you mean aimd?
registry: line 2:46: guards.ols.dialect: 3 is a number: write a text, in quotation marks`,
	} {
		_, err := registry.ParseJSON([]byte(text))
		assert.EqualError(t, err, "registry: "+want, text)
	}
}

func TestParseErrorsCanBeMatched(t *testing.T) {
	_, err := registry.ParseJSON([]byte(`{"guards": {"a": {"limits": "4/x", "preset": "nope/nope"}}}`))
	assert.ErrorAs(t, err, new(*throttle.ParseError))
	assert.ErrorAs(t, err, new(*presets.UnknownError))
	var at *registry.ParseError
	require.ErrorAs(t, err, &at)
	assert.Equal(t, "guards.a.limits", at.Path)
	assert.Equal(t, [2]int{1, 29}, [2]int{at.Line, at.Column})
	_, err = registry.ParseJSON([]byte(`{"a" 1}`))
	assert.ErrorAs(t, err, new(*json.SyntaxError))
}

func TestParseJSONTellsOfTwentyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, `"x%d": {"law": "x"},`, i)
	}
	_, err := registry.ParseJSON([]byte(`{"guards": {` + strings.TrimSuffix(b.String(), ",") + `}}`))
	assert.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 20)
}

func TestParseJSONOfDeepNesting(t *testing.T) {
	_, err := registry.ParseJSON([]byte(strings.Repeat(`{"a":`, 100_000)))
	assert.ErrorContains(t, err, "exceeded max depth")
	_, err = registry.ParseJSON([]byte(strings.Repeat(`{"a":`, 100) + "{}" + strings.Repeat("}", 100)))
	assert.ErrorContains(t, err, "too deep")
}

// Whatever stands there, there is no panic, and an error has a place in the text.
func FuzzParseJSON(f *testing.F) {
	f.Add(`{"default": {"limits": "1/s"}, "guards": {"a": {"share": 1, "max_wait": "1s"}, "a/*": {"within": ["a"]}}}`)
	f.Add(`{"guards": {"a": {"law": "fixed", "preset": "x", "limits": "3 concurrent"}}}`)
	f.Add(`{"default": {"law": "fixed", "limits": "2000000000 concurrent"}, "guards": {"a": {"preset": "openai/tier1"}}}`)
	f.Add("{\"a\u00e9\": [1, {}, \"\\u0000\"], \n}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := registry.ParseJSON([]byte(text))
		if err == nil {
			r, err := registry.New(c)
			require.NoError(t, err)
			require.NoError(t, r.Prewarm())
			require.NotNil(t, r.For("any", "host"))
			require.True(t, json.Valid([]byte(text)))
			return
		}
		lines := strings.Split(text, "\n")
		all, ok := err.(interface{ Unwrap() []error })
		if !ok {
			all = joined{err}
		}
		for _, e := range all.Unwrap() {
			at, ok := errors.AsType[*registry.ParseError](e)
			require.True(t, ok, "%T", e)
			require.True(t, at.Line >= 1 && at.Line <= len(lines), "%v", at)
			require.True(t, at.Column >= 1 && at.Column <= len(lines[at.Line-1])+1, "%v", at)
		}
	})
}

type joined []error

func (j joined) Unwrap() []error { return j }

// The place of a value is where it was put, whatever space is around it.
func TestPlacesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := func() string { return rapid.StringOfN(rapid.SampledFrom([]rune(" \n\t\r")), 0, 4, -1).Draw(t, "space") }
		var b strings.Builder
		put := func(parts ...string) {
			for _, p := range parts {
				b.WriteString(space() + p)
			}
		}
		put("{", `"default"`, ":", "{", "}", ",", `"guards"`, ":", "{")
		for i := range rapid.IntRange(0, 3).Draw(t, "before") {
			put(fmt.Sprintf(`"ü%d"`, i), ":", "{", `"limits"`, ":", `"4/s"`, "}", ",")
		}
		put(`"bad"`, ":", "{", `"share"`, ":")
		b.WriteString(space())
		before := b.String()
		put(`-1`)
		before += b.String()[len(before) : b.Len()-2]
		put("}", "}", "}")
		_, err := registry.ParseJSON([]byte(b.String()))
		var at *registry.ParseError
		require.ErrorAs(t, err, &at)
		line := strings.Count(before, "\n")
		require.Equal(t, line+1, at.Line)
		require.Equal(t, len(before)-strings.LastIndex(before, "\n"), at.Column)
	})
}
