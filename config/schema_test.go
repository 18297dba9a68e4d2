package config_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/config"
	"github.com/headrace/headrace/config/internal/schema"
	"github.com/headrace/headrace/throttle"
)

func TestTheCommittedSchemaIsTheGeneratedOne(t *testing.T) {
	want, err := schema.Generate()
	require.NoError(t, err)
	committed, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	require.Equal(t, string(want), string(committed), "run go generate in config")
	assert.Equal(t, string(committed), config.Schema())
}

// compiled is the schema in a validator that is not ours, which checks it against its own schema.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(config.Schema())))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

// accepts is what the validator says about a YAML text, read without our help.
func accepts(t *testing.T, s *jsonschema.Schema, text string) bool {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return false
	}
	return s.Validate(doc) == nil
}

// Whatever the limits are, their text is one for the schema.
func TestTheSchemaTakesAllLimits(t *testing.T) {
	pattern := regexp.MustCompile(schema.Limits())
	rapid.Check(t, func(t *rapid.T) {
		var lim throttle.Limits
		lim.Concurrency = rapid.IntRange(0, 1000).Draw(t, "concurrency")
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			n := rapid.Int64Range(1, 1e12).Draw(t, "max")
			per := time.Duration(rapid.Int64Range(1, int64(100*24*time.Hour)).Draw(t, "per"))
			if rapid.Bool().Draw(t, "whole") {
				per = rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 15 * time.Minute, 48 * time.Hour}).Draw(t, "unit")
			}
			w := throttle.Sliding(n, per)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				w = throttle.Bucket(rapid.Float64Range(1e-3, 1e9).Draw(t, "rate"), min(n, 1e6))
			case 1:
				w = throttle.Fixed(n, per, time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", rapid.IntRange(-12, 12).Draw(t, "zone")*3600)))
			}
			lim.Windows = append(lim.Windows, w.Of(throttle.Unit(rapid.IntRange(0, int(throttle.Units)-1).Draw(t, "unit"))))
		}
		require.Regexp(t, pattern, lim.String())
	})
}

func TestTheSchemaTakesWhatPeopleWrite(t *testing.T) {
	pattern := regexp.MustCompile(schema.Limits())
	for _, text := range []string{
		"5/s", "200k tokens/min", "100/15min", "5 per 250ms", "500 rpm, 200000 tpm", "bucket 10/s burst 20", "fixed 10000/day@UTC",
		"fixed 1/day@Asia/Tokyo", "fixed 1/day@2026-01-01T09:30:00-08:00[America/Los_Angeles]", "8 concurrent", "concurrency 8",
		"Unlimited", " 4 / s ,  8 CONCURRENT ", "5PER2h30m", "1.5M Input  Tokens/week", "200_000tpm", "sliding 3 points/s", "bucket 0.5/s",
		"10 requests per second", "bucket 1e3 tokens/min", "3/100µs",
	} {
		_, err := throttle.ParseLimits(text)
		require.NoError(t, err, text)
		assert.Regexp(t, pattern, text)
	}
	for _, text := range []string{
		"", " ", "4", "4/sek", "x/min", "4/s;", "4/s 5/s", "4 s", "-4/s", "4/s,", "ols: 4/s", "4 concurent", "burst 4", "unlimited, 4/s", "bucket 4", "5 rpx",
	} {
		_, err := throttle.ParseLimits(text)
		require.Error(t, err, text)
		assert.NotRegexp(t, pattern, text)
	}
}
