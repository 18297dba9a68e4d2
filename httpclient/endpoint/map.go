package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

// ConfigFromMap reads an endpoint from decoded JSON or YAML. The keys are the fields in snake
// case, with secret_env and secret for Secret; docs/http.md lists them and their synonyms. Add Config
// and the checks in code. The error joins a *fault.FieldError for each unknown key and each problem of
// Validate, named by key. No problem shows a secret.
func ConfigFromMap(m map[string]any) (Config, error) {
	r := mapReader{problems: invalid.Problems{Owner: "endpoint"}, bad: map[string]bool{}, as: map[string]string{}}
	if name, ok := m["name"].(string); ok && name != "" {
		r.problems.Owner += fmt.Sprintf(" %q", name)
	}
	keys := endpointKeys()
	r.read(keys, m, "")
	r.validate(keys)
	if err := r.problems.Err(); err != nil {
		return Config{}, err
	}
	return r.config, nil
}

type mapReader struct {
	config   Config
	problems invalid.Problems
	bad      map[string]bool   // fields that have a problem already
	as       map[string]string // by field: the key that it was given as
}

// read takes the keys of m, which is within a key if that is not "".
func (r *mapReader) read(keys []endpointKey, m map[string]any, within string) {
	for _, given := range slices.Sorted(maps.Keys(m)) {
		shown := within + given
		if given == "client_kwargs" && within == "" {
			inner, ok := m[given].(map[string]any)
			if !ok {
				r.problems.Addf(given, "it is %s; want an object", kind(m[given]))
				continue
			}
			r.read(keys, inner, given+".")
			continue
		}
		i := slices.IndexFunc(keys, func(k endpointKey) bool { return k.name == synonym(given, m[given]) })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.name
			}
			r.problems.Addf(shown, "the key is unknown: %s", meant(given, names))
			continue
		}
		field := keys[i].field
		if before := r.as[field]; before != "" {
			r.bad[field] = true
			r.problems.Addf(before, "contradicts %s; leave one of them out", shown)
			continue
		}
		r.as[field] = shown
		if problem := keys[i].read(&r.config, m[given]); problem != "" {
			r.bad[field] = true
			r.problems.Addf(shown, "%s", problem)
		}
	}
}

// synonym returns the key that another spelling stands for.
func synonym(key string, v any) string {
	switch key {
	case "api_key":
		return "secret"
	case "api_key_env":
		return "secret_env"
	case "auth_type":
		return "auth"
	case "default_headers":
		return "headers"
	case "endpoint":
		if text, ok := v.(string); ok && (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) {
			return "base_url"
		}
		return "path"
	}
	return key
}

// validate adds what Validate finds, under the keys that were given.
func (r *mapReader) validate(keys []endpointKey) {
	joined, _ := r.config.Validate().(interface{ Unwrap() []error })
	if joined == nil {
		return
	}
	for _, err := range joined.Unwrap() {
		found, ok := err.(*fault.FieldError) //nolint:errorlint // as Validate made it
		if !ok {
			r.problems.Add(err)
			continue
		}
		field, rest, inside := strings.Cut(found.Field, "[")
		if r.bad[field] {
			continue
		}
		if given := r.as[field]; given != "" {
			field = given
		} else if i := slices.IndexFunc(keys, func(k endpointKey) bool { return k.field == field && k.name != "secret" }); i >= 0 {
			field = keys[i].name
		}
		if inside {
			field += "[" + rest
		}
		r.problems.Addf(field, "%s", found.Problem)
	}
}
