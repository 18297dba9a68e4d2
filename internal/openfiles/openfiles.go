// Package openfiles recognizes errors of a process or machine that can open no more files.
package openfiles

import (
	"errors"
	"net"
	"strings"
	"syscall"
)

// Exhausted reports whether err says that this process, or this machine, can open no more files. A lookup reports it as text.
func Exhausted(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err may be user code
	dns, ok := errors.AsType[*net.DNSError](err)
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || ok && strings.Contains(dns.Err, syscall.EMFILE.Error())
}
