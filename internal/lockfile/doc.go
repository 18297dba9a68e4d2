// Package lockfile locks a file by name, so that one process at a time does
// something. The system releases the lock when the process ends, however it ends.
package lockfile
