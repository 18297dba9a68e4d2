package redisserver

import "syscall"

// endsWithTheTest makes the system end a server if its test has ended without its cleanup, as after a panic.
func endsWithTheTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
