//go:build !unix

package main

import "os"

// ignored are signals that would end the process without a word where a write can fail with an error.
var ignored []os.Signal //nolint:gochecknoglobals // it differs by system
