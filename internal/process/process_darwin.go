package process

import "syscall"

// machine is the boot of the kernel.
func machine() string {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return boot
}

func startOf(int) (start string, ended bool) { return "", false }
