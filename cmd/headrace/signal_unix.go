//go:build unix

package main

import (
	"os"
	"syscall"
)

// ignored are signals that would end the process without a word where a write can fail with an error.
var ignored = []os.Signal{syscall.SIGPIPE} //nolint:gochecknoglobals // it differs by system
