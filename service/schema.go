package service

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema of the configuration, draft 2020-12. New checks more than
// a schema can: that a refill rate fits its capacity, and that no limit is repeated.
func Schema() string { return schema }
