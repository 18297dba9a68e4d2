package endpoint

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/header"
)

// endpointKey is one key of a map.
type endpointKey struct {
	name, field string
	read        func(c *Config, v any) (problem string)
}

func endpointKeys() []endpointKey {
	return []endpointKey{
		textKey("name", "Name", func(c *Config) *string { return &c.Name }),
		textKey("provider", "Provider", func(c *Config) *string { return &c.Provider }),
		textKey("base_url", "BaseURL", func(c *Config) *string { return &c.BaseURL }),
		textKey("path", "Path", func(c *Config) *string { return &c.Path }),
		textKey("method", "Method", func(c *Config) *string { return &c.Method }),
		textKey("content_type", "ContentType", func(c *Config) *string { return &c.ContentType }),
		textKey("auth", "Auth", func(c *Config) *string { return (*string)(&c.Auth) }),
		textKey("auth_header", "AuthHeader", func(c *Config) *string { return &c.AuthHeader }),
		{"secret", "Secret", func(c *Config, v any) string { return readSecret(c, v, httpclient.NewSecret) }},
		{"secret_env", "Secret", func(c *Config, v any) string { return readSecret(c, v, httpclient.SecretFromEnv) }},
		{"headers", "Headers", readHeaders},
		{"idempotency_keys", "IdempotencyKeys", readKeys},
		{"timeout", "Timeout", readTimeout},
		numberKey("max_retries", "MaxRetries", func(c *Config, n int64) {
			c.MaxRetries = int(max(min(n, math.MaxInt32), math.MinInt32))
		}),
		{"transport_type", "", readTransport},
		numberKey("max_response", "MaxResponse", func(c *Config, n int64) { c.MaxResponse = n }),
	}
}

func textKey(name, field string, of func(*Config) *string) endpointKey {
	return endpointKey{name, field, func(c *Config, v any) (problem string) {
		*of(c), problem = text(v)
		return problem
	}}
}

func numberKey(name, field string, set func(*Config, int64)) endpointKey {
	return endpointKey{name, field, func(c *Config, v any) string {
		n, ok := integer(v)
		if !ok {
			return fmt.Sprintf("it is %s; want a whole number", kind(v))
		}
		set(c, n)
		return ""
	}}
}

func readSecret(c *Config, v any, of func(string) httpclient.Secret) string {
	s, problem := text(v)
	if problem == "" {
		c.Secret = of(s)
	}
	return problem
}

func readHeaders(c *Config, v any) string {
	m := reflect.ValueOf(v)
	if m.Kind() != reflect.Map || m.Type().Key().Kind() != reflect.String {
		return fmt.Sprintf("it is %s; want an object of texts, such as {\"X-Team\": \"search\"}", kind(v))
	}
	headers := map[string]string{}
	var problems []string
	for at := m.MapRange(); at.Next(); {
		value, problem := text(at.Value().Interface())
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%.80q: %s", header.Shown(at.Key().String()), problem))
		}
		headers[at.Key().String()] = value
	}
	c.Headers = headers
	slices.Sort(problems)
	return strings.Join(problems, "; ")
}

func readKeys(c *Config, v any) string {
	on, ok := v.(bool)
	if !ok {
		return fmt.Sprintf("it is %s; want true or false", kind(v))
	}
	c.IdempotencyKeys = on
	return ""
}

// readTransport accepts the only transport that there is.
func readTransport(_ *Config, v any) string {
	s, problem := text(v)
	switch {
	case problem != "":
		return problem
	case !slices.Contains([]string{"http", "https", "rest"}, strings.ToLower(s)):
		return fmt.Sprintf("%.80q is not a transport of endpoints; want http, or use endpoint.NewFunc", s)
	}
	return ""
}

func readTimeout(c *Config, v any) string {
	const want = `want a text with units, such as "30s" or "1m30s", or a number of seconds`
	switch d, seconds, ok := duration(v); {
	case !ok:
		if s, is := v.(string); is {
			return fmt.Sprintf("%.80q is not a duration; %s", s, want)
		}
		return fmt.Sprintf("it is %s; %s", kind(v), want)
	case d <= 0:
		return fmt.Sprintf("%.80q is not positive; %s", fmt.Sprint(v), want)
	case seconds && d > longestTimeout:
		return fmt.Sprintf("%v is more than %s; %s", v, longestTimeout, want)
	default:
		c.Timeout = d
		return ""
	}
}
