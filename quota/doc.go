// Package quota shares limits between processes. A Store keeps the windows and
// the slots of any number of keys where all of them reach it; a call states a
// Demand for each key that it counts against, such as a user, a host and the
// whole service, and takes from all of them at one instant or from none.
//
// MemoryStore keeps them in this process. Package quotatest holds the tests
// that every Store has to pass. Limits that one process has for itself need no
// store: they are enforced by package throttle.
package quota
