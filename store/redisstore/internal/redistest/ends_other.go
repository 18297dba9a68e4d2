//go:build !linux

package redistest

import "syscall"

func endsWithTheTest() *syscall.SysProcAttr { return nil }
