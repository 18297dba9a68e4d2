package httpclient_test

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

const variable = "HEADRACE_TEST_SECRET"

func TestSecretNeverShows(t *testing.T) {
	t.Setenv(variable, canary)
	type outside struct{ S httpclient.Secret }
	type inside struct {
		s httpclient.Secret
		p *httpclient.Secret
		m map[string]httpclient.Secret
	}
	for name, s := range map[string]httpclient.Secret{
		"literal": httpclient.NewSecret(canary),
		"env":     httpclient.SecretFromEnv(variable),
		"func":    httpclient.SecretFunc(func() (string, error) { return canary, nil }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, x := range []any{
				s, &s,
				outside{s},
				&outside{s},
				[]httpclient.Secret{s},
				map[string]any{"a": s},
				inside{s, &s, map[string]httpclient.Secret{"a": s}},
				&inside{s: s},
				[]inside{{s: s}},
				endpoint.Config{Secret: s},
				&endpoint.Config{Secret: s},
				httpclient.Bearer(s), httpclient.HeaderAuth("X", s),
			} {
				noTrace(t, shows(t, x))
			}
			value, err := s.Reveal()
			require.NoError(t, err)
			assert.Equal(t, canary, value)
			assert.False(t, s.IsZero())
		})
	}
}

func TestSecretText(t *testing.T) {
	s, none := httpclient.NewSecret("key"), httpclient.NewSecret("")
	for _, tc := range []struct{ format, want, wantNone string }{
		{"%v", "REDACTED", ""},
		{"%+v", "REDACTED", ""},
		{"%s", "REDACTED", ""},
		{"%q", "REDACTED", ""},
		{"%x", "REDACTED", ""},
		{"%d", "REDACTED", ""},
		{"%#v", "httpclient.Secret(REDACTED)", "httpclient.Secret()"},
		{"%T", "httpclient.Secret", "httpclient.Secret"},
	} {
		assert.Equal(t, tc.want, fmt.Sprintf(tc.format, s), tc.format)
		assert.Equal(t, tc.wantNone, fmt.Sprintf(tc.format, none), tc.format)
	}
	assert.Equal(t, "REDACTED", s.String())
	assert.Equal(t, "REDACTED", s.LogValue().String())
	type document struct {
		S httpclient.Secret            `json:"s"`
		Z httpclient.Secret            `json:"z,omitzero"`
		M map[string]httpclient.Secret `json:"m"`
	}
	text, err := json.Marshal(document{S: s, M: map[string]httpclient.Secret{"a": s}})
	require.NoError(t, err)
	assert.Equal(t, `{"s":"REDACTED","m":{"a":"REDACTED"}}`, string(text))
	assert.Error(t, json.Unmarshal(text, &document{}), "what was marshalled is not taken for a secret")
	assert.ErrorContains(t, gob.NewEncoder(io.Discard).Encode(document{S: s}), "no exported fields", "gob has no text to get")
	assert.True(t, none.IsZero())
	assert.True(t, httpclient.Secret{}.IsZero())
	_, err = none.Reveal()
	assert.ErrorContains(t, err, "the secret is empty")
}

func TestSecretEqual(t *testing.T) {
	t.Setenv(variable, "a")
	a, b, env := httpclient.NewSecret("a"), httpclient.NewSecret("b"), httpclient.SecretFromEnv(variable)
	broken := httpclient.SecretFunc(func() (string, error) { return "a", errors.New("no vault") })
	for _, tc := range []struct {
		name string
		x, y httpclient.Secret
		want bool
	}{
		{"same value", a, httpclient.NewSecret("a"), true},
		{"another source", a, env, true},
		{"another value", a, b, false},
		{"none and none", httpclient.Secret{}, httpclient.NewSecret(""), true},
		{"one and none", a, httpclient.Secret{}, false},
		{"none and one", httpclient.Secret{}, a, false},
		{"a source that fails", a, broken, false},
		{"twice the one that fails", broken, broken, false},
	} {
		assert.Equal(t, tc.want, tc.x.Equal(tc.y), tc.name)
	}
}

func TestSecretFromEnv(t *testing.T) {
	s := httpclient.SecretFromEnv(variable)
	_, err := s.Reveal()
	assert.EqualError(t, err, `httpclient: the environment variable "HEADRACE_TEST_SECRET" is not set`)
	t.Setenv(variable, "")
	_, err = s.Reveal()
	assert.EqualError(t, err, `httpclient: the environment variable "HEADRACE_TEST_SECRET" is empty`)
	for _, want := range []string{"one", "two"} {
		t.Setenv(variable, want)
		got, err := s.Reveal()
		require.NoError(t, err)
		assert.Equal(t, want, got, "read each time")
	}
}

// A key given in place of the variable's name does not reach a log.
func TestSecretFromEnvHidesAKeyForAName(t *testing.T) {
	for name, shown := range map[string]bool{
		"OPENAI_API_KEY":                        true,
		"A_VERY_LONG_NAME_OF_SOME_VARIABLE_2":   true,
		"short_lower":                           true,
		"sk-proj-abc":                           false,
		"gsk_abcdefghijklmnopqrstuvwxyz0123456": false,
		"with space":                            false,
		"AIzaSyA1234567890abcdefgh":             false,
		"key=value":                             false,
	} {
		_, err := httpclient.SecretFromEnv(name).Reveal()
		require.Error(t, err)
		if shown {
			assert.ErrorContains(t, err, name)
		} else {
			assert.NotContains(t, err.Error(), name)
			assert.ErrorContains(t, err, "the name of a variable is wanted")
		}
	}
}
