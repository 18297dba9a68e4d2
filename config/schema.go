package config

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the text of schema.json. Parse checks more than a schema can: that
// presets exist, and that names do not differ in case only.
func Schema() string { return schema }
