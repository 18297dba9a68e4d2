package endpoint_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

func TestEndpointConfigFromMap(t *testing.T) {
	t.Setenv(variable, "k")
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{
		"name": "chat", "provider": "openai", "base_url": "https://h/v1", "path": "/chat", "method": "PUT",
		"content_type": "application/x+json", "auth": "header", "auth_header": "X-Key", "secret_env": "HEADRACE_TEST_SECRET",
		"headers": {"X-Team": "search"}, "idempotency_keys": true, "timeout": "1m30s", "max_response": 1000
	}`), &m))
	c, err := endpoint.ConfigFromMap(m)
	require.NoError(t, err)
	secret, err := c.Secret.Reveal()
	require.NoError(t, err)
	assert.Equal(t, "k", secret)
	c.Secret = httpclient.Secret{}
	assert.Equal(t, endpoint.Config{
		Name: "chat", Provider: "openai", BaseURL: "https://h/v1", Path: "/chat", Method: "PUT",
		ContentType: "application/x+json", Auth: endpoint.AuthHeader, AuthHeader: "X-Key",
		Headers: map[string]string{"X-Team": "search"}, IdempotencyKeys: true, Timeout: 90 * time.Second, MaxResponse: 1000,
	}, c)

	// What other decoders make of the same.
	for _, most := range []any{2, int64(2), uint64(2), 2.0, json.Number("2")} {
		c, err = endpoint.ConfigFromMap(map[string]any{
			"base_url": "https://h", "secret": "k", "max_response": most, "timeout": time.Second, "headers": map[string]string{"A": "b"},
		})
		require.NoError(t, err, "%T", most)
		assert.Equal(t, int64(2), c.MaxResponse)
		assert.Equal(t, time.Second, c.Timeout)
		assert.Equal(t, map[string]string{"A": "b"}, c.Headers)
		assert.True(t, c.Secret.Equal(httpclient.NewSecret("k")))
	}
}

// The names that other clients have for the same.
func TestEndpointConfigFromMapSynonyms(t *testing.T) {
	t.Setenv(variable, "k123")
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{
		"transport_type": "http", "base_url": "https://h/v1", "endpoint": "/chat", "api_key": "k123", "auth_type": "bearer",
		"default_headers": {"X-Team": "search"}, "max_retries": 3, "timeout": 1.5, "client_kwargs": {"max_response": 1000}
	}`), &m))
	c, err := endpoint.ConfigFromMap(m)
	require.NoError(t, err)
	assert.True(t, c.Secret.Equal(httpclient.NewSecret("k123")))
	c.Secret = httpclient.Secret{}
	assert.Equal(t, endpoint.Config{
		BaseURL: "https://h/v1", Path: "/chat", Auth: endpoint.AuthBearer, Headers: map[string]string{"X-Team": "search"},
		MaxRetries: 3, Timeout: 1500 * time.Millisecond, MaxResponse: 1000,
	}, c)
	for _, timeout := range []any{30, int64(30), uint8(30), 30.0, json.Number("30"), "30s", 30 * time.Second} {
		c, err = endpoint.ConfigFromMap(map[string]any{
			"endpoint": "https://h/v1/chat", "client_kwargs": map[string]any{"timeout": timeout, "api_key_env": variable},
		})
		require.NoError(t, err, "%T", timeout)
		assert.Equal(t, 30*time.Second, c.Timeout)
		assert.Equal(t, "https://h/v1/chat", c.BaseURL)
		assert.False(t, c.Secret.IsZero())
	}
}

func TestEndpointConfigFromMapProblems(t *testing.T) {
	t.Setenv(variable, canary)
	for _, tc := range []struct {
		key   string
		value any
		also  map[string]any
		field string // default key
		text  string
	}{
		{key: "base_ulr", value: canary, text: "the key is unknown: did you mean base_url?"},
		{key: "secret_nev", value: canary, text: "the key is unknown: did you mean secret_env"},
		{key: "zzzzzzzz", value: 1, text: "the key is unknown: want name, provider, base_url, "},
		{key: "Name", value: "x", text: "the key is unknown: did you mean name?"},
		{key: "base_url", value: nil, text: "it is empty; want a text"},
		{key: "base_url", value: 7, text: "it is a number; want a text"},
		{key: "base_url", value: "", text: "the text is empty"},
		{key: "base_url", value: "ftp://" + canary, text: "its scheme is neither"},
		{key: "path", value: "../x", text: "has a segment of dots"},
		{key: "path", value: []any{"a"}, text: "it is a list"},
		{key: "provider", value: "antropic", text: "did you mean anthropic"},
		{key: "method", value: "get", text: "upper case"},
		{key: "method", value: json.Number("1"), text: "it is a number"},
		{key: "content_type", value: ";", text: "not a media type"},
		{key: "auth", value: "berer", also: map[string]any{"secret": "k123"}, text: "did you mean bearer?"},
		{key: "auth", value: true, text: "it is true or false; want a text"},
		{key: "auth", value: "bearer", field: "secret_env", text: "is missing, and Auth"},
		{key: "auth_header", value: "a b", also: map[string]any{"secret": canary}, text: "not a header name"},
		{key: "auth", value: "Bearer " + canary, also: map[string]any{"secret": "k123"}, text: "is unknown; did you mean bearer?"},
		{key: "auth_header", value: "X-Key: " + canary, also: map[string]any{"secret": "k123"}, text: `"X-Key..." is not a header name`},
		{key: "headers", value: map[string]any{"X-Key: " + canary: ""}, text: "the text is empty"},
		{key: "headers", value: map[string]any{"X-Key: " + canary: "b"}, text: `"X-Key..." is not a header name`},
		{key: "secret", value: 12345678, text: "it is a number; want a text"},
		{key: "secret", value: canary + "\n", text: "white space"},
		{key: "secret", value: canary, also: map[string]any{"secret_env": variable}, text: "contradicts secret_env"},
		{key: "secret_env", value: "HEADRACE_NO_SUCH", text: `"HEADRACE_NO_SUCH" is not set`},
		{key: "secret_env", value: "sk-" + canary, text: "the name of a variable is wanted"},
		{key: "secret_env", value: []any{canary}, text: "it is a list; want a text"},
		{key: "headers", value: "X-A: " + canary, text: "it is a text; want an object"},
		{key: "headers", value: map[int]string{1: "a"}, text: "it is an object; want an object of texts"},
		{key: "headers", value: map[string]any{"X-Version": time.Time{}}, text: `"X-Version": it is a time.Time; want a text, in quotation marks`},
		{key: "headers", value: map[string]any{"X-B": 1, "X-A": nil}, text: `"X-A": it is empty; want a text, in quotation marks; "X-B": it is a number`},
		{key: "headers", value: map[string]any{"X-A": ""}, text: `the text is empty`},
		{key: "headers", value: map[string]any{"X-A": canary + "\n"}, field: "headers[X-A]", text: "white space"},
		{key: "headers", value: map[string]any{"authorization": "Basic " + canary}, also: map[string]any{"secret": "k123"}, field: "headers[authorization]", text: "is the header in which Auth sends"},
		{key: "idempotency_keys", value: "yes", text: "it is a text; want true or false"},
		{key: "timeout", value: []any{30}, text: `it is a list; want a text with units, such as "30s" or "1m30s", or a number of seconds`},
		{key: "timeout", value: 0, text: "is not positive"},
		{key: "timeout", value: -1.5, text: "is not positive"},
		{key: "timeout", value: 90000, text: "is more than 24h0m0s"}, // it was meant in milliseconds
		{key: "timeout", value: json.Number("1e999"), text: "is a number"},
		{key: "timeout", value: nil, text: "it is empty"},
		{key: "api_key", value: canary + "\n", text: "white space"},
		{key: "api_key", value: canary, also: map[string]any{"secret": "k123"}, text: "contradicts secret"},
		{key: "auth_type", value: "berer", also: map[string]any{"api_key": "k123"}, text: "did you mean bearer?"},
		{key: "endpoint", value: "../x", text: "has a segment of dots"},
		{key: "endpoint", value: "https://h2", also: map[string]any{"name": "chat"}, field: "base_url", text: "contradicts endpoint"},
		{key: "default_headers", value: "X-A: " + canary, text: "it is a text; want an object"},
		{key: "max_retries", value: -1, text: "want at least 1"},
		{key: "max_retries", value: "3", text: "it is a text; want a whole number"},
		{key: "transport_type", value: "grpc", text: `"grpc" is not a transport of endpoints; want http`},
		{key: "client_kwargs", value: "timeout=3", text: "it is a text; want an object"},
		{key: "client_kwargs", value: map[string]any{"timeuot": canary}, field: "client_kwargs.timeuot", text: "the key is unknown: did you mean timeout?"},
		{key: "client_kwargs", value: map[string]any{"timeout": 0}, field: "client_kwargs.timeout", text: "is not positive"},
		{key: "client_kwargs", value: map[string]any{"max_response": -1}, field: "client_kwargs.max_response", text: "want at least 1"},
		{key: "timeout", value: "30", text: `"30" is not a duration`},
		{key: "timeout", value: "-30s", text: "is not positive"},
		{key: "timeout", value: "0s", text: "is not positive"},
		{key: "max_response", value: "3", text: "it is a text; want a whole number"},
		{key: "max_response", value: 1.5, text: "it is a number; want a whole number"},
		{key: "max_response", value: json.Number("1.5"), text: "it is a number; want a whole number"},
		{key: "max_response", value: -1, text: "want at least 1"},
		{key: "max_response", value: nil, text: "it is empty"},
		{key: "max_response", value: time.Second, text: "want a whole number"},
		{key: "max_response", value: uint64(1 << 63), text: "want a whole number"},
		{key: "max_response", value: 1e300, text: "want a whole number"},
		{key: "max_response", value: -5, text: "want at least 1"},
	} {
		t.Run(tc.key, func(t *testing.T) {
			m := map[string]any{"name": "chat", "base_url": "https://h"}
			maps.Copy(m, tc.also)
			m[tc.key] = tc.value
			c, err := endpoint.ConfigFromMap(m)
			assert.Zero(t, c.BaseURL)
			var field *fault.FieldError
			require.ErrorAs(t, err, &field, "%v", tc)
			if tc.field == "" {
				tc.field = tc.key
			}
			assert.Equal(t, `endpoint "chat"`, field.Owner)
			assert.Equal(t, tc.field, field.Field)
			assert.Contains(t, field.Problem, tc.text)
			joined, is := err.(interface{ Unwrap() []error })
			require.True(t, is)
			assert.Len(t, joined.Unwrap(), 1, "exactly one problem: %v", err)
			noTrace(t, err.Error())
		})
	}
}

func TestEndpointConfigFromMapJoinsAllProblems(t *testing.T) {
	_, err := endpoint.ConfigFromMap(map[string]any{
		"nam": "x", "path": 1, "timeout": "30", "method": "get", "headers": map[string]any{"a b": "c"}, "max_response": -1, "auth": "header",
	})
	assert.EqualError(t, err, `endpoint: nam: the key is unknown: did you mean name?
endpoint: path: it is a number; want a text, in quotation marks
endpoint: timeout: "30" is not a duration; want a text with units, such as "30s" or "1m30s", or a number of seconds
endpoint: base_url: is missing; want such as https://api.example.com/v1
endpoint: method: "get" is not an HTTP method; want one such as POST, in upper case
endpoint: secret_env: is missing, and Auth is "header"; set one, or Auth to "none"
endpoint: auth_header: is missing, and Auth is "header"; want the name of a header, such as X-Api-Key
endpoint: headers: "a..." is not a header name
endpoint: max_response: -1; want at least 1, or 0 for that of Config`)
}

// Whatever is in a map, there is an error that names the key, or a config that works; never a panic.
func TestEndpointConfigFromMapProperty(t *testing.T) {
	keys := []string{
		"name", "provider", "base_url", "path", "method", "content_type", "auth", "auth_header", "secret", "secret_env",
		"headers", "idempotency_keys", "timeout", "max_response", "other",
	}
	value := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny), rapid.Map(rapid.Int(), toAny), rapid.Map(rapid.Float64(), toAny),
		rapid.Map(rapid.String(), toAny), rapid.Map(rapid.SampledFrom([]string{"bearer", "header", "https://h/x", "a", "30s", "POST", variable}), toAny),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.String()), toAny), rapid.Map(rapid.SliceOf(rapid.Int()), toAny),
	)
	t.Setenv(variable, "k")
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.SampledFrom(keys), value).Draw(t, "map")
		c, err := endpoint.ConfigFromMap(m)
		if err == nil {
			e, err := endpoint.New(c)
			require.NoError(t, err)
			require.NoError(t, e.Close())
			return
		}
		for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
			field, ok := one.(*fault.FieldError) //nolint:errorlint // each by itself
			require.True(t, ok, "%T", one)
			key, _, _ := strings.Cut(field.Field, "[")
			require.True(t, slices.Contains(keys, key), field.Field)
		}
	})
}

func toAny[T any](x T) any { return x }
