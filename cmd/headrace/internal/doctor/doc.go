// Package doctor examines what limits the calls of this machine: a configuration, the stores and groups where limits are
// shared, and a headrace that runs. It changes nothing there, and every wait has a bound.
package doctor
