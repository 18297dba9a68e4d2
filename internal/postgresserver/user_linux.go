package postgresserver

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// quit has PostgreSQL end at once, with all its processes.
const quit = syscall.SIGQUIT

// noUser is the number of the user without privileges, if there is no user postgres.
const noUser = 65534

// unprivileged runs a program as another user if this one is root, which PostgreSQL
// refuses, and ends it with this process.
func unprivileged() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() == 0 {
		uid, gid := other()
		attributes.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
	return attributes
}

// handOver gives a folder to the user as which the server runs.
func handOver(folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := other()
	return os.Chown(folder, int(uid), int(gid))
}

func other() (uid, gid uint32) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return noUser, noUser
	}
	id, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return noUser, noUser
	}
	group, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return noUser, noUser
	}
	return uint32(id), uint32(group)
}
