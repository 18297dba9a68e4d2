package config

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of what Parse reads, schema.json
// beside this file. A validator that accepts a file may still see Parse refuse
// it: whether a preset exists, a window is empty, or a name comes twice in other
// letters, no schema can say.
func Schema() string { return schema }
