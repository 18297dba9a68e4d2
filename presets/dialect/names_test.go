package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/presets/dialect"
)

func TestByName(t *testing.T) {
	for _, n := range dialect.Names() {
		got, err := dialect.ByName(" " + string(n) + " ")
		assert.NoError(t, err)
		assert.Equal(t, n, got)
	}
	assert.True(t, slices.IsSorted(dialect.Names()))
	long := strings.Repeat("x", 1<<16)
	for name, want := range map[string]string{
		"open-ai":    `dialect: "open-ai" is unknown: did you mean "openai" or "azure-openai"?`,
		"qwertyuiop": `dialect: "qwertyuiop" is unknown: "auto" recognises the provider by its responses`,
		long:         `dialect: "` + long[:80] + `" is unknown: "auto" recognises the provider by its responses`,
		"azure":      `dialect: "azure" is unknown: did you mean "azure-openai"?`,
		"":           `dialect: "" is unknown: "auto" recognises the provider by its responses`,
		"openai/gpt": `dialect: "openai/gpt" is unknown: did you mean "openai"?`,
	} {
		got, err := dialect.ByName(name)
		assert.EqualError(t, err, want)
		assert.Empty(t, got)
	}
}

func TestNearNamesAreFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, err := dialect.ByName(rapid.String().Draw(t, "name"))
		var unknown *dialect.UnknownError
		if assert.ErrorAs(t, err, &unknown) {
			assert.LessOrEqual(t, len(unknown.Near), 3)
		}
	})
}

func TestByHost(t *testing.T) {
	for host, want := range map[string]dialect.Name{
		"eu.api.openai.com":                            dialect.OpenAI,
		"openai.com.":                                  dialect.OpenAI,
		"acme.openai.azure.com:443":                    dialect.Azure,
		"us-central1-aiplatform.googleapis.com":        dialect.Gemini,
		"bedrock-runtime-fips.us-east-1.amazonaws.com": dialect.Bedrock,
		"s3.amazonaws.com":                             dialect.Auto,
		"en.wikipedia.org":                             dialect.Wikimedia,
		"fake-openai.com":                              dialect.Auto,
		"10.0.0.1:8080":                                dialect.Auto,
		"api.openai.invalid":                           dialect.Auto,
		"[::1]:8080":                                   dialect.Auto,
		"[::1]":                                        dialect.Auto,
		":":                                            dialect.Auto,
		".openai.com":                                  dialect.OpenAI,
		"[":                                            dialect.Auto,
	} {
		assert.Equal(t, want, dialect.ByHost(host), "%q", host)
	}
}
