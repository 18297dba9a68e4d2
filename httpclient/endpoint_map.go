package httpclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

// EndpointConfigFromMap reads an endpoint from decoded JSON or YAML. The keys are the fields in snake
// case, with secret_env and secret for Secret; docs/http.md lists them. Add Config and CheckPayload in
// code. The error joins a *fault.FieldError for each unknown key and each problem of Validate, named
// by key. No problem shows a secret.
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
		found, ok := err.(*fault.FieldError) //nolint:errorlint // as Validate made it
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
