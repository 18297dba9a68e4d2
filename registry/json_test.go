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
		"default": {"limits": "1/s"},
		"services": {
			"openai": {"preset": "openai/tier1", "share": 0.5, "max_wait": "5m", "dialect": "openai"},
			"ols": {"limits": "4/s, 8 concurrent", "law": "fixed", "hosts": {"*": {"limits": "1/s"}, "a.org": {}}}
		}
	}`))
	require.NoError(t, err)
	assert.Equal(t, registry.Config{
		Default: registry.Spec{Limits: limits(t, "1/s")},
		Services: map[string]registry.Service{
			"openai": {Spec: registry.Spec{Preset: "openai/tier1", Share: 0.5, MaxWait: 5 * time.Minute, Dialect: "openai"}},
			"ols": {
				Spec:  registry.Spec{Limits: limits(t, "4/s, 8 concurrent"), Law: registry.Fixed},
				Hosts: map[string]registry.Spec{"*": {Limits: limits(t, "1/s")}, "a.org": {}},
			},
		},
	}, c)
	c, err = registry.ParseJSON([]byte("{}"))
	require.NoError(t, err)
	assert.Equal(t, registry.Config{}, c)
}

func TestParseJSONTellsWhereAndWhatInstead(t *testing.T) {
	_, unknown := presets.Lookup("openai/teir1")
	require.ErrorContains(t, unknown, "did you mean openai/tier1")
	in := func(s string) string { return "{\"services\": {\"ols\": {\n  " + s + "\n}}}" }
	for text, want := range map[string]string{
		``:                                 `line 1:1: the text is empty: write services with their limits, or {} for none`,
		" \n":                              `line 1:1: the text is empty: write services with their limits, or {} for none`,
		`{"services": {`:                   `line 1:15: unexpected end of JSON input: a closing bracket or quotation mark is missing`,
		"{\n  default: {}}":                `line 2:3: invalid character 'd' looking for beginning of object key string`,
		`{} {}`:                            `line 1:4: invalid character '{' after top-level value`,
		`[]`:                               `line 1:1: it is a list: write an object such as {"limits": "4/s"}`,
		`{"servics": {}}`:                  `line 1:2: servics: the key is unknown: did you mean services?`,
		`{"zzz": 1}`:                       `line 1:2: zzz: the key is unknown: the keys here are default, services`,
		`{"services": []}`:                 `line 1:14: services: it is a list: write an object with a key for each`,
		`{"services": {"a": null}}`:        `line 1:20: services.a: there is no value: write an object such as {"limits": "4/s"}, or leave the key out`,
		`{"services": {"a": {}, "A": {}}}`: `line 1:20: services.a: the name "a" comes twice: case and space around it do not matter, so leave one out`,
		`{"services": {"a": {}, "a": {}}}`: `line 1:24: services.a: the key comes twice: leave one out`,
		`{"default": {"law": "aimd", "law": "aimd"}}`:  `line 1:29: default.law: the key comes twice: leave one out`,
		`{"services": {"": {}}}`:                       `line 1:19: services[""]: the name is empty: write one such as "openai"`,
		in(`"limts": "4/s"`):                           `line 2:3: services.ols.limts: the key is unknown: did you mean limits?`,
		in(`"hosts": {"x": {"hosts": {}}}`):            `line 2:19: services.ols.hosts.x.hosts: the key is unknown: the keys here are dialect, law, limits, max_wait, preset, share`,
		in(`"limits": 4`):                              `line 2:13: services.ols.limits: 4 is a number: write limits, such as "4/s, 8 concurrent", in quotation marks`,
		in(`"limits": "4/sek"`):                        `line 2:13: services.ols.limits: throttle: limits: "sek" at offset 2: it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		in(`"limits": "-4/s"`):                         `line 2:13: services.ols.limits: throttle: Windows[0].Max: -4 is not between 1 and 1099511627776`,
		in(`"law": "aimed"`):                           `line 2:10: services.ols.law: "aimed" is not a law: did you mean aimd?`,
		in(`"law": ""`):                                `line 2:10: services.ols.law: the text is empty: leave the key out`,
		in(`"law": true`):                              `line 2:10: services.ols.law: it is a yes or no: write a text`,
		in(`"share": "0.5"`):                           `line 2:12: services.ols.share: "0.5" is a text: write a number, without quotation marks`,
		in(`"max_wait": 90`):                           `line 2:15: services.ols.max_wait: 90 is a number: write a duration, such as "90s" or "15m", in quotation marks`,
		in(`"max_wait": "90"`):                         `line 2:15: services.ols.max_wait: "90" is no duration: write numbers with units of h, m, s or ms, such as 90s or 1h30m`,
		in(`"max_wait": "0s"`):                         `line 2:15: services.ols.max_wait: "0s" would be the default: leave the key out, or write 1ns for no wait at all`,
		in(`"max_wait": "-1s"`):                        `line 2:15: services.ols.max_wait: -1s is negative: use 0 for the default`,
		in(`"preset": "openai/teir1"`):                 `line 2:13: services.ols.preset: ` + unknown.Error(),
		in(`"share": 0.5`):                             `line 2:12: services.ols.share: 0.5 of what? Name a Preset, or write smaller Limits`,
		in(`"preset": "openai/tier1", "share": 0`):     `line 2:38: services.ols.share: 0 would be the default: leave the key out, or write what is above 0 and at most 1`,
		in(`"preset": "openai/tier1", "share": 1e999`): `line 2:38: services.ols.share: strconv.ParseFloat: parsing "1e999": value out of range`,
		// What follows from another problem is not told.
		in(`"limits": "4/sek", "law": "fixed"`): `line 2:13: services.ols.limits: throttle: limits: "sek" at offset 2: it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		in(`"presett": "x", "share": 0.5`):      `line 2:3: services.ols.presett: the key is unknown: did you mean preset?`,
		in(`"preset": "no/pe", "law": "fixed"`): `line 2:13: services.ols.preset: presets: unknown preset "no/pe": names are provider/tier/model or provider/tier; docs/presets.md and All list them`,
		// All problems come at once, in the order of the text.
		in(`"limts": "4/s", "law": "aimed", "hosts": {"a.org": {"dialect": 3}}`): `line 2:3: services.ols.limts: the key is unknown: did you mean limits?
registry: line 2:26: services.ols.law: "aimed" is not a law: did you mean aimd?
registry: line 2:66: services.ols.hosts["a.org"].dialect: 3 is a number: write a text, in quotation marks`,
	} {
		_, err := registry.ParseJSON([]byte(text))
		assert.EqualError(t, err, "registry: "+want, text)
	}
}

func TestParseErrorsCanBeMatched(t *testing.T) {
	_, err := registry.ParseJSON([]byte(`{"services": {"a": {"limits": "4/x", "preset": "nope/nope"}}}`))
	assert.ErrorAs(t, err, new(*throttle.ParseError))
	assert.ErrorAs(t, err, new(*presets.UnknownError))
	var at *registry.ParseError
	require.ErrorAs(t, err, &at)
	assert.Equal(t, []string{"services", "a", "limits"}, at.Keys)
	assert.Equal(t, [2]int{1, 31}, [2]int{at.Line, at.Column})
	_, err = registry.ParseJSON([]byte(`{"a" 1}`))
	assert.ErrorAs(t, err, new(*json.SyntaxError))
}

func TestParseJSONTellsOfTwentyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, `"x%d": {"law": "x"},`, i)
	}
	_, err := registry.ParseJSON([]byte(`{"services": {` + strings.TrimSuffix(b.String(), ",") + `}}`))
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
	f.Add(`{"default": {"limits": "1/s"}, "services": {"a": {"share": 1, "max_wait": "1s", "hosts": {"*": {}}}}}`)
	f.Add(`{"services": {"a": {"law": "fixed", "preset": "x", "limits": "3 concurrent"}}}`)
	f.Add(`{"default": {"law": "fixed", "limits": "2000000000 concurrent"}, "services": {"a": {"preset": "openai/tier1"}}}`)
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
		put("{", `"default"`, ":", "{", "}", ",", `"services"`, ":", "{")
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
