package process

import (
	"bytes"
	"os"
	"strconv"
)

// machine is the boot of the kernel and the namespace of process IDs: the IDs
// of two containers say nothing about each other.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + space
}

// startOf returns when the process began, in ticks since the boot, and whether
// only its entry is left (a zombie). start is empty if that cannot be read.
func startOf(pid int) (start string, ended bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// The name, in brackets, may hold anything. State is field 3 and starttime
	// field 22, see proc_pid_stat(5).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", false
	}
	state := fields[0][0]
	return string(fields[19]), state == 'Z' || state == 'X'
}
