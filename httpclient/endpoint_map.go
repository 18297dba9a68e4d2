package httpclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// EndpointConfigFromMap reads a description of an endpoint as it comes out of JSON or YAML.
// These are the keys; what they mean and their defaults are those of the fields of [EndpointConfig]:
//
//	name              text
//	provider          text, such as openai
//	base_url          text, such as https://api.openai.com/v1; the only one that is required
//	path              text, such as /chat/completions
//	method            text, such as POST
//	content_type      text, such as application/json
//	auth              bearer, header or none
//	auth_header       text, such as X-Api-Key
//	secret_env        text, the name of an environment variable
//	secret            text; better not kept in a file
//	headers           object of texts
//	idempotency_keys  true or false
//	timeout           text with units, such as 30s or 1m30s
//	retries           number
//	max_response      number, in bytes
//
// What cannot be written in a file is added to the result in code: a limiter in Config.Wrap, CheckPayload.
//
// All problems are joined, each a *FieldError with its key as the field, also
// those that Validate finds. A key that is unknown is a problem. No problem shows a secret.
func EndpointConfigFromMap(m map[string]any) (EndpointConfig, error) {
	r := mapReader{problems: invalid.Problems{Owner: "httpclient.Endpoint"}, bad: map[string]bool{}}
	if name, ok := m["name"].(string); ok && name != "" {
		r.problems.Owner += fmt.Sprintf(" %q", name)
	}
	keys := endpointKeys()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		i := slices.IndexFunc(keys, func(k endpointKey) bool { return k.name == key })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.name
			}
			r.problems.Addf(key, "the key is unknown: %s", meant(key, names))
			continue
		}
		if problem := keys[i].read(&r.config, m[key]); problem != "" {
			r.bad[keys[i].field] = true
			r.problems.Addf(key, "%s", problem)
		}
	}
	if _, both := m["secret"]; both {
		if _, both = m["secret_env"]; both {
			r.bad["Secret"] = true
			r.problems.Addf("secret", "contradicts secret_env; leave one of them out")
		}
	}
	r.validate(keys, m)
	if err := r.problems.Err(); err != nil {
		return EndpointConfig{}, err
	}
	return r.config, nil
}

type mapReader struct {
	config   EndpointConfig
	problems invalid.Problems
	bad      map[string]bool // fields that have a problem already
}

// validate adds what Validate finds, under the keys.
func (r *mapReader) validate(keys []endpointKey, m map[string]any) {
	joined, _ := r.config.Validate().(interface{ Unwrap() []error })
	if joined == nil {
		return
	}
	for _, err := range joined.Unwrap() {
		found, ok := err.(*FieldError) //nolint:errorlint // as Validate made it
		if !ok {
			r.problems.Add(err)
			continue
		}
		field, rest, inside := strings.Cut(found.Field, "[")
		if r.bad[field] {
			continue
		}
		for _, k := range keys {
			if _, given := m[k.name]; k.field == field && (given || k.name != "secret") {
				field = k.name
				break
			}
		}
		if inside {
			field += "[" + rest
		}
		r.problems.Addf(field, "%s", found.Problem)
	}
}

// endpointKey is one key of a map.
type endpointKey struct {
	name, field string
	read        func(c *EndpointConfig, v any) (problem string)
}

func endpointKeys() []endpointKey {
	return []endpointKey{
		textKey("name", "Name", func(c *EndpointConfig) *string { return &c.Name }),
		textKey("provider", "Provider", func(c *EndpointConfig) *string { return &c.Provider }),
		textKey("base_url", "BaseURL", func(c *EndpointConfig) *string { return &c.BaseURL }),
		textKey("path", "Path", func(c *EndpointConfig) *string { return &c.Path }),
		textKey("method", "Method", func(c *EndpointConfig) *string { return &c.Method }),
		textKey("content_type", "ContentType", func(c *EndpointConfig) *string { return &c.ContentType }),
		textKey("auth", "Auth", func(c *EndpointConfig) *string { return (*string)(&c.Auth) }),
		textKey("auth_header", "AuthHeader", func(c *EndpointConfig) *string { return &c.AuthHeader }),
		{"secret", "Secret", func(c *EndpointConfig, v any) string { return readSecret(c, v, NewSecret) }},
		{"secret_env", "Secret", func(c *EndpointConfig, v any) string { return readSecret(c, v, SecretFromEnv) }},
		{"headers", "Headers", readHeaders},
		{"idempotency_keys", "IdempotencyKeys", readKeys},
		{"timeout", "Timeout", readTimeout},
		numberKey("retries", "Retries", 1<<16, func(c *EndpointConfig, n int64) { c.Retries = int(n) }),
		numberKey("max_response", "MaxResponse", math.MaxInt64, func(c *EndpointConfig, n int64) { c.MaxResponse = n }),
	}
}

func textKey(name, field string, of func(*EndpointConfig) *string) endpointKey {
	return endpointKey{name, field, func(c *EndpointConfig, v any) (problem string) {
		*of(c), problem = text(v)
		return problem
	}}
}

// text never shows v, which may be a secret.
func text(v any) (s, problem string) {
	switch s, ok := v.(string); {
	case !ok:
		return "", fmt.Sprintf("it is %s; want a text, in quotation marks", kind(v))
	case s == "":
		return "", "the text is empty; leave the key out"
	default:
		return s, ""
	}
}

func readSecret(c *EndpointConfig, v any, of func(string) Secret) string {
	s, problem := text(v)
	if problem == "" {
		c.Secret = of(s)
	}
	return problem
}

func readHeaders(c *EndpointConfig, v any) string {
	m := reflect.ValueOf(v)
	if m.Kind() != reflect.Map || m.Type().Key().Kind() != reflect.String {
		return fmt.Sprintf("it is %s; want an object of texts, such as {\"X-Team\": \"search\"}", kind(v))
	}
	headers := map[string]string{}
	var problems []string
	for at := m.MapRange(); at.Next(); {
		value, problem := text(at.Value().Interface())
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%.80q: %s", token(at.Key().String()), problem))
		}
		headers[at.Key().String()] = value
	}
	c.Headers = headers
	slices.Sort(problems)
	return strings.Join(problems, "; ")
}

func readKeys(c *EndpointConfig, v any) string {
	on, ok := v.(bool)
	if !ok {
		return fmt.Sprintf("it is %s; want true or false", kind(v))
	}
	c.IdempotencyKeys = on
	return ""
}

func readTimeout(c *EndpointConfig, v any) string {
	const want = `want a text with units, such as "30s" or "1m30s"`
	if d, ok := v.(time.Duration); ok {
		v = d.String()
	}
	s, ok := v.(string)
	if !ok {
		return fmt.Sprintf("it is %s; %s", kind(v), want)
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return fmt.Sprintf("%.80q is no duration; %s", s, want)
	case d <= 0:
		return fmt.Sprintf("%.80q is not positive; %s", s, want)
	}
	c.Timeout = d
	return ""
}

func numberKey(name, field string, most int64, set func(*EndpointConfig, int64)) endpointKey {
	return endpointKey{name, field, func(c *EndpointConfig, v any) string {
		n, ok := integer(v)
		if !ok {
			return fmt.Sprintf("it is %s; want a whole number", kind(v))
		}
		if n > most {
			return fmt.Sprintf("%d is too much; want at most %d", n, most)
		}
		set(c, n)
		return ""
	}}
}

// integer accepts what the decoders of JSON, YAML and TOML make of a whole number.
func integer(v any) (int64, bool) {
	if n, ok := v.(json.Number); ok {
		i, err := n.Int64()
		return i, err == nil
	}
	switch n := reflect.ValueOf(v); {
	case v == nil:
		return 0, false
	case n.CanInt():
		return n.Int(), reflect.TypeOf(v) != reflect.TypeFor[time.Duration]()
	case n.CanUint():
		return int64(n.Uint()), n.Uint() <= math.MaxInt64 //nolint:gosec // where it fits
	case n.CanFloat():
		f := n.Float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	default:
		return 0, false
	}
}

// kind says what v is, for people who wrote it in a file.
func kind(v any) string {
	if _, ok := v.(json.Number); ok {
		return "a number"
	}
	switch of := reflect.ValueOf(v); of.Kind() {
	case reflect.Invalid:
		return "empty"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		if of.CanInt() || of.CanUint() || of.CanFloat() {
			return "a number"
		}
		return fmt.Sprintf("a %T", v)
	}
}
