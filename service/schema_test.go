package service_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/service/internal/rules"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(service.Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

// What the schema says and what is read agree.
func TestSchema(t *testing.T) {
	s := compiled(t)
	for text, right := range map[string]bool{
		"{}": true, limits: true,
		"$schema: schema.json\nrate_limits: [{scope: a, limits: 5/s}]":                                                      true,
		"default: {capacity: 5, refill_rate: 0}":                                                                            true,
		"rate_limits: [{scope: a, resource: '*', capacity: 5, refill_rate: 0.5}]":                                           true,
		"runtime: {outage: local, local_share: 0.5, breaker: {failures: 3, open: 1s, max_open: 2m}, redis: {pool_size: 5}}": true,
		"envoy: {files: [], shadow_mode: true, headers: {limit: RateLimit-Limit}}":                                          true,
		"envoy: {headers: {reset: 'a b'}}":                                                                                  false,
		"envoy: {file: a.yaml}":                                                                                             false,
		"rate_limits: [{scope: a}]":                                                                                         false,
		"rate_limits: [{limits: 5/s}]":                                                                                      false,
		"rate_limits: [{scope: a, capacity: 5}]":                                                                            false,
		"rate_limits: [{scope: a, capacity: 5, refill_rate: 1, limits: 5/s}]":                                               false,
		"rate_limits: [{scope: a, capacity: 5, refill_rate: -1}]":                                                           false,
		"rate_limits: [{scope: a, limits: 5/s, more: 1}]":                                                                   false,
		"rate_limits: {}":                      false,
		"default: {scope: a, limits: 5/s}":     false,
		"costs: {a: 0}":                        false,
		"runtime: {outage: never}":             false,
		"runtime: {timeout: 5}":                false,
		"runtime: {auth: {token_hashes: [x]}}": false,
		"other: 1":                             false,
	} {
		var doc any
		require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
		assert.Equal(t, right, s.Validate(doc) == nil, "schema: %s", text)
		_, err := rules.Parse([]byte(text))
		assert.Equal(t, right, err == nil, "%v: %s", err, text)
	}
}

// Every key that is read is in the schema with a text, and no other.
func TestTheSchemaHasEveryKey(t *testing.T) {
	var root map[string]any
	require.NoError(t, json.Unmarshal([]byte(service.Schema()), &root))
	defs := root["$defs"].(map[string]any)
	var compare func(at string, schema map[string]any, of reflect.Type)
	compare = func(at string, schema map[string]any, of reflect.Type) {
		if ref, ok := schema["$ref"].(string); ok {
			schema = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		}
		switch {
		case of.Kind() == reflect.Pointer:
			of = of.Elem()
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
			of, schema = of.Elem(), schema["items"].(map[string]any)
			if ref, ok := schema["$ref"].(string); ok {
				schema = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			}
		}
		if of.Kind() != reflect.Struct || schema["type"] != "object" {
			return
		}
		properties := schema["properties"].(map[string]any)
		known := map[string]bool{"$schema": true}
		for f := range of.Fields() {
			key := f.Tag.Get("config")
			known[key] = true
			p, ok := properties[key].(map[string]any)
			if assert.True(t, ok, "%s.%s is not in the schema", at, key) {
				assert.NotEmpty(t, p["description"], "%s.%s", at, key)
				compare(at+"."+key, p, f.Type)
			}
		}
		for key := range properties {
			assert.True(t, known[key], "%s.%s is not read", at, key)
		}
	}
	compare("", root, reflect.TypeFor[rules.File]())
}
