// Package quota shares limits between processes. A Store keeps the windows and
// slots of any number of keys; a call states a Demand for each key that it counts
// against, such as a user, a host and the whole service, and takes from all of
// them at one instant or from none. See docs/guard.md.
//
// MemoryStore keeps them in this process, package store/redisstore in Redis.
// WithFallback sets what happens while a store is unavailable. Package quotatest
// tests every Store.
package quota
