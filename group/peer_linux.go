package group

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// samePeer fails if the process at the other end is another user's.
func samePeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case int(peer.Uid) != os.Geteuid():
		return fmt.Errorf("group: the socket belongs to user %d, and this process to user %d", peer.Uid, os.Geteuid())
	}
	return nil
}
