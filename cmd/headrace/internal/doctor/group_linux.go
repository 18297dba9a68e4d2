package doctor

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// leaderOf returns the process at the other end of a connection.
func leaderOf(c net.Conn) (pid int, program string) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, ""
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, ""
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	})
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return pid, strings.TrimSpace(string(name))
}

// stopped reports whether a process was stopped by a signal.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	text := string(stat)
	state := strings.TrimSpace(text[strings.LastIndexByte(text, ')')+1:]) // a name may contain spaces and brackets
	return strings.HasPrefix(state, "T") || strings.HasPrefix(state, "t")
}
