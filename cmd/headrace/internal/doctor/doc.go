// Package doctor examines what limits the calls of this machine: a configuration, the stores and groups where limits are
// shared, and running programs. It changes nothing there, and every wait is bounded.
package doctor
