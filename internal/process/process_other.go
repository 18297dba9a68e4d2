//go:build !linux && !darwin && !windows

package process

// machine is unknown: nothing is known here that two machines, or two jails on
// one, do not have in common.
func machine() string { return "" }

func startOf(int) (start string, ended bool) { return "", false }
