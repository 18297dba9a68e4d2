//go:build !linux

package redisserver

import "syscall"

func endsWithTheTest() *syscall.SysProcAttr { return nil }
