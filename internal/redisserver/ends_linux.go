package redisserver

import "syscall"

// endsWithTheTest has the system end a server whose test has ended without its cleanup, as after a panic.
func endsWithTheTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
