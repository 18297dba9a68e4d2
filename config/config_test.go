package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/config"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

func limits(t *testing.T, s string) throttle.Limits {
	t.Helper()
	l, err := throttle.ParseLimits(s)
	require.NoError(t, err)
	return l
}

func TestLoad(t *testing.T) {
	c, err := config.Load("testdata/example.yaml")
	require.NoError(t, err)
	assert.Equal(t, registry.Config{
		Default: registry.Spec{Limits: limits(t, "1/s"), MaxWait: 5 * time.Minute},
		Guards: map[string]registry.Spec{
			"openai":            {Preset: "openai/tier1", Share: 0.5, Breaker: true},
			"ols":               {Limits: limits(t, "4/s, 8 concurrent"), Law: registry.Fixed, MaxWait: time.Hour},
			"bioportal":         {Limits: limits(t, "2/s, 100/min"), Law: registry.Fixed, MaxWait: time.Hour},
			"crawl":             {Limits: limits(t, "20/s, 20 concurrent")},
			"crawl/*":           {Limits: limits(t, "bucket 2/s burst 5"), Law: registry.Measured, Idle: 10 * time.Minute},
			"crawl/example.org": {Limits: limits(t, "fixed 10000/day@UTC")},
		},
	}, c)
	_, err = registry.New(c)
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/example.yaml")
	require.NoError(t, err)
	assert.True(t, accepts(t, compiled(t), string(text)))
}

// What the loader takes the schema takes, and what it refuses the schema
// refuses, but for what no schema can know.
func TestTheSchemaAndTheLoaderAgree(t *testing.T) {
	s := compiled(t)
	in := func(lines ...string) string { return "guards:\n  ols:\n    " + strings.Join(lines, "\n    ") + "\n" }
	for text, want := range map[string]string{
		// Accepted by both.
		"{}":                                     "",
		`{"guards": {"ols": {"limits": "4/s"}}}`: "",
		in("limits: 4/s"):                        "",
		in("{}"):                                 "",
		in("preset: openai/tier1", "share: 1"):   "",
		in("max_wait: 1h30m"):                    "",
		in("law: fixed", "limits: 4/s"):          "",
		in("law: fixed", "preset: generic/scraping-polite", "share: 0.5"): "",
		in("dialect: OpenAI"): "",
		in("within: [api]", "retry: 3", "max_queue: 9", "breaker: true", "timeout: 30s") + "  api: {}": "",
		in("share: 0.25"): "", in("share: 0.25", "law: measured"): "",
		"guards: {a/*: {idle: 1m}, a/b/c: {}, 'http://x': {}}": "",
		in("limits: &l 4/s") + "  a: {limits: *l}":             "",
		"$schema: x\ndefault: {law: aimd}":                     "",
		// Refused by both.
		"":                                "1:1: the file is empty: write {} for no settings",
		"# only a comment\n":              "1:1: the file is empty: write {} for no settings",
		"[1, 2]":                          `1:1: it is a list: write an object such as {"limits": "4/s"}`,
		"gards: {}":                       "1:1: gards: the key is unknown: did you mean guards?",
		"guards: 3":                       "1:9: guards: it is a number: write an object with a key for each",
		in("limts: 4/s"):                  "3:5: guards.ols.limts: the key is unknown: did you mean limits?",
		in("law: fixed", "limits: 4/sek"): `4:13: guards.ols.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		in("limits: 4"):                   `3:13: guards.ols.limits: 4 is a number: write limits, such as "4/s, 8 concurrent", in quotation marks`,
		in("limits:"):                     `3:12: guards.ols.limits: there is no value: write limits, such as "4/s, 8 concurrent", or leave the key out`,
		in("law: mesured"):                `3:10: guards.ols.law: "mesured" is not a law: did you mean measured?`,
		in("law: fixed"):                  `3:10: guards.ols.law: fixed has nothing to keep: add limits, or a preset that has limits`,
		in("law: true"):                   `3:10: guards.ols.law: it is a yes or no: write a text`,
		in("preset: openai/tier1", "share: half"):                        `4:12: guards.ols.share: "half" is a string: write a number, without quotation marks`,
		in("preset: openai/tier1", "share: .inf"):                        `4:12: guards.ols.share: ".inf" is a string: write a number, without quotation marks`,
		in("max_wait: 90"):                                               `3:15: guards.ols.max_wait: 90 is a number: write a duration, such as "90s" or "15m", in quotation marks`,
		in("max_wait: 1 hour"):                                           `3:15: guards.ols.max_wait: "1 hour" is not a duration: write numbers with units of h, m, s or ms, such as 90s or 1h30m`,
		in("max_wait: -1s"):                                              `3:15: guards.ols.max_wait: -1s is negative: use 0 for the default`,
		in("max_wait: 0s"):                                               `3:15: guards.ols.max_wait: "0s" would be the default: leave the key out, or write a time such as 30s`,
		in("share: 0.5", "law: aimd"):                                    `3:12: guards.ols.share: 0.5 of an unknown limit: only adaptive.Measured can find its share; set a Preset, or smaller Limits`,
		in("preset: openai/tier1", "share: 50"):                          `4:12: guards.ols.share: 50 is not a fraction of the provider's limit: use a number in (0, 1], or 0 for all of it`,
		in("preset: openai/tier1", "share: 0"):                           `4:12: guards.ols.share: 0 would be the default: leave the key out, or write a number above 0 and at most 1`,
		in("dialect: opnai"):                                             `3:14: guards.ols.dialect: dialect: "opnai" is unknown: did you mean "openai"`,
		"store: sqlite:x\n" + in("limits: 4/s"):                          "",
		"store: limits.db":                                               `1:8: store: "limits.db" is not an address: write memory, sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT or group:PATH`,
		in("store: Sqlite:x"):                                            "3:12: guards.ols.store: it is not an address: write memory, sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT or group:PATH",
		"loader: store: sqlite:x\n" + in("limits: 4/s", "store: memory"): "1:8: store: no guard has limits to share there: add limits, or use group:PATH, which shares learned limits",
		in("retry: 0"):                                                   `3:12: guards.ols.retry: 0 would be the default: leave the key out, or write at least 1`,
		in("retry: 1.5"):                                                 `3:12: guards.ols.retry: 1.5 is not a whole number: write one such as 3`,
		in("within: api"):                                                `3:13: guards.ols.within: it is a text: write a list of names, such as ["openai"]`,
		in("breaker: 'true'"):                                            `3:14: guards.ols.breaker: it is a text: write true or false`,
		in("hosts: {}"):                                                  `3:5: guards.ols.hosts: the key is unknown: the keys here are breaker,`,
		"guards: {Default: {}}":                                          `1:19: guards.Default: the name is that of the template for all names: set default, or take another name`,
		"guards: {'*': {}}":                                              `1:15: guards["*"]: a template has a name before a slash, such as crawl/*: for all names set default`,
		"guards: {a/*/b: {}}":                                            `1:17: guards["a/*/b"]: only the last part of a name can be *`,
		"guards: {a/ : {}}":                                              `1:15: guards["a/"]: the name begins or ends with a slash`,
		"guards: {'': {}}":                                               `1:14: guards[""]: the name is empty: write one such as "openai"`,
		in("limits: 4/s", "limits: 5/s"):                                 `4:5: guards.ols.limits: the key is given twice: leave one out`,
		"guards: {ols: [}":                                               `1:16: it is not YAML: `,
		"a: &a [*a]":                                                     `1:4: the entries are nested too deeply, or an alias contains itself`,
		"? [a]\n: 1":                                                     "1:3: a key is a text here: write the name of a setting",
		in("<<: 3"):                                                      "3:9: a merge key takes a mapping, or a list of them, such as <<: *common",
		// What no schema knows.
		"loader: " + in("preset: nope/nope"):             `3:13: guards.ols.preset: presets: unknown preset "nope/nope": names are provider/tier/model or provider/tier; docs/presets.md and All list them`,
		"loader: " + in("limits: 0/s"):                   `3:13: guards.ols.limits: "0/s": 0 is not between 1 and 1099511627776`,
		"loader: " + in("limits: 2000000000 concurrent"): `3:13: guards.ols.limits: 2000000000 concurrent is too many: write at most 1073741824, or leave it out for no bound`,
		"loader: guards: {OLS: {}, ols: {}}":             `1:24: guards.ols: the name "ols" occurs twice (case and surrounding space do not matter): leave one out`,
		"loader: " + in("idle: 1m"):                      `3:11: guards.ols.idle: only guards of a template are evicted: leave it out, or set it on a name such as crawl/*`,
		"loader: " + in("within: [osl]"):                 `3:13: guards.ols.within: "osl" is not configured: did you mean ols?`,
		"loader: {}\n---\n{}":                            `2:1: a second document begins: put all of the configuration into one`,
		"loader: " + in("limits: !mine 4/s"):             "3:13: the tag !mine means nothing here: remove it",
	} {
		text, loaderOnly := strings.CutPrefix(text, "loader: ")
		_, err := config.Parse([]byte(text))
		if want == "" {
			assert.NoError(t, err, text)
		} else if assert.Error(t, err, text) {
			assert.True(t, strings.HasPrefix(err.Error(), "registry: line "+want), "%s\nwant %s\ngot  %s", text, want, err)
			assert.ErrorAs(t, err, new(*registry.ParseError))
		}
		assert.Equal(t, want == "" || loaderOnly, accepts(t, s, text), "the schema, of:\n%s", text)
	}
}

func TestMergeKeys(t *testing.T) {
	c, err := config.Parse([]byte(`
default: &a {limits: 1/s, law: fixed, max_wait: 1s}
guards:
  one: &b {<<: *a, limits: 2/s}
  two: {<<: [*b, *a], max_wait: 3s}
  three: {<<: [*a, *b]}
`))
	require.NoError(t, err)
	spec := func(s string, wait time.Duration) registry.Spec {
		return registry.Spec{Limits: limits(t, s), Law: registry.Fixed, MaxWait: wait}
	}
	assert.Equal(t, map[string]registry.Spec{"one": spec("2/s", time.Second), "two": spec("2/s", 3*time.Second), "three": spec("1/s", time.Second)}, c.Guards)

	_, err = config.Parse([]byte("default: &a {law: aimed}\nguards: {x: {<<: *a}}"))
	assert.EqualError(t, err, `registry: line 1:19: default.law: "aimed" is not a law: did you mean aimd?
registry: line 1:19: guards.x.law: "aimed" is not a law: did you mean aimd?`)
}

func TestPresetsOfOnesOwn(t *testing.T) {
	mine, err := presets.New(presets.Profile{ID: "mine/free", Limits: limits(t, "7/min")})
	require.NoError(t, err)
	const text = "guards: {x: {preset: mine/free, law: fixed}}"
	_, err = config.Parse([]byte(text))
	assert.ErrorAs(t, err, new(*presets.UnknownError))
	file := filepath.Join(t.TempDir(), "x.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, err := config.Load(file, mine)
	require.NoError(t, err)
	r, err := registry.New(c)
	require.NoError(t, err)
	assert.Equal(t, "7/min", r.Get("x").Stats().Limits.String())
}

func TestAliasesDoNotExplode(t *testing.T) {
	var b strings.Builder
	b.WriteString("a: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n")
	for _, n := range "123456789" {
		b.WriteString(string(n) + ": &a" + string(n) + " [" + strings.Repeat("*a"+string(n-1)+", ", 9) + "*a" + string(n-1) + "]\n")
	}
	_, err := config.Parse([]byte(b.String()))
	require.Error(t, err)
	_, err = config.Parse([]byte("a: &a {<<: *a}"))
	require.Error(t, err)

	b.Reset()
	b.WriteString("a: &a {")
	for i := range 2000 {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	b.WriteString("}\nb: {<<: [" + strings.Repeat("*a, ", 100) + "]}\n")
	_, err = config.Parse([]byte(b.String()))
	require.ErrorContains(t, err, "the aliases add more than 100000 values to the configuration")

	for _, merged := range []string{"{x: 1, y: 2, z: 3}", "{}"} {
		b.Reset()
		b.WriteString("a: &a0 " + merged + "\n")
		for i := range 12 {
			fmt.Fprintf(&b, "k%d: &a%d {<<: [%s*a%d]}\n", i, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
		}
		_, err = config.Parse([]byte(b.String()))
		require.ErrorContains(t, err, "the aliases add more than 100000 values to the configuration", merged)
	}
}

func TestALargeConfigurationWithoutAliasesIsRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("guards:\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "  service%d: {limits: 4/s, max_queue: 7}\n", i)
	}
	c, err := config.Parse([]byte(b.String()))
	require.NoError(t, err)
	assert.Len(t, c.Guards, 30_000)
}

func TestLoadNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "limits.yaml")
	require.NoError(t, os.WriteFile(file, []byte("guards:\n  ols: {limts: 4/s, law: x}\n"), 0o600))
	_, err := config.Load(file)
	assert.EqualError(t, err, "registry: "+file+":2:9: guards.ols.limts: the key is unknown: did you mean limits?\n"+
		"registry: "+file+`:2:26: guards.ols.law: "x" is not a law: write measured, aimd, fixed`)
	at, ok := errors.AsType[*registry.ParseError](err)
	require.True(t, ok)
	assert.Equal(t, file, at.File)

	for missing, hint := range map[string]string{
		"limits.yml": "did you mean " + file + "?", "Limit.yaml": "did you mean " + file + "?",
		"zzz": "in " + dir + " there is limits.yaml", "no/limits.yaml": "the folder is not there either",
	} {
		_, err := config.Load(filepath.Join(dir, missing))
		assert.ErrorIs(t, err, fs.ErrNotExist)
		assert.ErrorContains(t, err, hint)
	}
	_, err = config.Load(filepath.Join(t.TempDir(), "x.yaml"))
	assert.ErrorContains(t, err, "there is no YAML file in")
	_, err = config.Load(dir)
	assert.ErrorContains(t, err, "config: ")
}

// Whatever stands there, there is no panic, and an error has a place.
func FuzzParse(f *testing.F) {
	f.Add("default: &a {limits: 1/s}\nguards: {x: {<<: *a, share: 1}, y: *a}")
	f.Add("a: &a [*a]")
	f.Add("guards: {x: {limits: 2000000000 concurrent}, y: {preset: openai/tier1, law: fixed}}")
	f.Add("? {<<: [a]}\n: !!int x\n---\n")
	f.Add("!!float 1: .nan\n\t- %TAG")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse([]byte(text))
		if err == nil {
			r, err := registry.New(c)
			require.NoError(t, err)
			require.NoError(t, r.Prewarm())
			return
		}
		at, ok := errors.AsType[*registry.ParseError](err)
		require.True(t, ok, "%T %v", err, err)
		require.Positive(t, at.Line)
		require.Positive(t, at.Column)
	})
}
