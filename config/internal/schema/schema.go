// Package schema makes the JSON Schema of a registry's configuration from the
// tags of its structs.
package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

type object = map[string]any

// Generate returns the schema of registry.Config, draft 2020-12. It is as strict
// as a schema can be without refusing what is right: whether a preset exists, or
// a name comes twice in other letters, only the loader knows.
func Generate() ([]byte, error) {
	root := structOf(reflect.TypeFor[registry.Config]())
	fields(root)["$schema"] = object{"type": "string", "description": "Where this schema is, for editors."}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Guards by name, for headrace"
	root["$defs"] = object{
		"spec": entry(structOf(reflect.TypeFor[registry.Spec]())),
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

func fields(schema object) object {
	properties, _ := schema["properties"].(object)
	return properties
}

// entry adds what holds between the fields of one limiter.
func entry(schema object) object {
	schema["dependentSchemas"] = object{"share": object{ // only measured finds its part without one
		"if":   object{"required": []string{"law"}, "properties": object{"law": object{"enum": []string{string(registry.AIMD), string(registry.Fixed)}}}},
		"then": object{"required": []string{"preset"}},
	}}
	schema["if"] = object{"required": []string{"law"}, "properties": object{"law": object{"const": string(registry.Fixed)}}}
	schema["then"] = object{"anyOf": []object{
		{"required": []string{"preset"}},
		{"required": []string{"limits"}},
	}}
	return schema
}

// structOf describes an object with a property for each field.
func structOf(t reflect.Type) object {
	properties := object{}
	for f := range t.Fields() {
		if key := f.Tag.Get("config"); key != "" {
			property := valueOf(f.Type)
			describe(property, f.Tag)
			properties[key] = property
		}
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

// valueOf describes a value by its type.
func valueOf(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[registry.Spec]():
		return object{"$ref": "#/$defs/spec"}
	case reflect.TypeFor[throttle.Limits]():
		return object{"type": "string", "pattern": Limits()}
	case reflect.TypeFor[time.Duration]():
		return object{"type": "string", "allOf": []object{{"pattern": duration}, {"pattern": "[1-9]"}}}
	case reflect.TypeFor[dialect.Name]():
		return dialects()
	}
	switch t.Kind() {
	case reflect.Map:
		not := object{"pattern": `^\s*(` + anyCase("default") + `\.?|\*\.?)\s*$|^\s*\.?\s*/|/\s*\.?\s*$|(^|/)\s*\*\.?\s*/`}
		return object{"type": "object", "additionalProperties": valueOf(t.Elem()), "propertyNames": object{"pattern": `\S`, "not": not}}
	case reflect.Slice:
		return object{"type": "array", "items": valueOf(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	default:
		return object{"type": "string", "minLength": 1}
	}
}

// describe adds what the tags say.
func describe(property object, tag reflect.StructTag) {
	for name, as := range map[string]string{"above": "exclusiveMinimum", "most": "maximum"} {
		if n, err := strconv.ParseFloat(tag.Get(name), 64); err == nil {
			property[as] = n
		}
	}
	if doc := tag.Get("doc"); doc != "" {
		property["description"] = doc
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		property["pattern"] = pattern
	}
	if enum := tag.Get("enum"); enum != "" {
		delete(property, "minLength")
		property["enum"] = strings.Split(enum, ",")
	}
}

// dialects offers the names in an editor, and takes them in any case.
func dialects() object {
	var names, patterns []string
	for _, name := range dialect.Names() {
		names = append(names, string(name))
		patterns = append(patterns, anyCase(string(name)))
	}
	return object{"type": "string", "anyOf": []object{
		{"enum": names}, {"pattern": "^(" + strings.Join(patterns, "|") + ")$"},
	}}
}
