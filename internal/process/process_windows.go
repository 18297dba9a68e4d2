package process

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// From the documentation of OpenProcess and of system error codes.
const (
	queryLimitedInformation = 0x1000
	errInvalidParameter     = syscall.Errno(87)
)

// machine is the computer's name, which is unique on its network.
func machine() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return ""
	}
	return "windows/" + strconv.QuoteToASCII(name)
}

// exists reports whether there may be a process of that number.
func exists(pid int) bool {
	h, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(pid)) //nolint:gosec // a process ID
	if err != nil {
		return !errors.Is(err, errInvalidParameter)
	}
	_ = syscall.CloseHandle(h)
	return true
}

// startOf returns when the process began, in units of 100 ns, and whether it has ended already.
func startOf(pid int) (start string, ended bool) {
	h, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(pid)) //nolint:gosec // a process ID
	if err != nil {
		return "", false
	}
	defer func() { _ = syscall.CloseHandle(h) }()
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", false
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), exited != syscall.Filetime{}
}
