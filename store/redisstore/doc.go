// Package redisstore keeps limits in Redis, for processes that share them: a [quota.Store] for guards.
//
//	store, err := redisstore.Open("redis://localhost:6379/0")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	g, err := guard.New(guard.Policy{Name: "openai", Limits: limits, Store: store})
//
// # How it counts
//
// Each operation is one script, which uses the clock of Redis. Everything about a key is in one value; its slots are in
// another. Token buckets and calendars are exact. A sliding window is exact for up to 128 admissions at different
// instants; with more it counts in 64 parts until it is empty, and may admit a call late by per/64, never early.
// Instants are rounded to microseconds. Equal requests that callers of one Store make at the same time are sent as one,
// which admits as many of them as fit.
//
// # Failures
//
// A method returns when its context ends, or with an error after WithTimeout, also if Redis has stopped. If the answer to
// an operation does not come in time, the units count as used. The slots are freed once Redis responds; if the process has
// ended by then, or the connection broke before, the lease lapses. No command is sent twice. A key that was evicted,
// or lost by a restart or FLUSHALL, starts with full limits: if that matters, let Redis persist its data, and set
// maxmemory-policy to noeviction. A damaged value is a *fault.FieldError about its key until Forget removes it, and other
// keys are not affected. If the clock of Redis is set back, the windows of a key stand still until it has caught up. With
// noeviction, calls fail while the memory is full. [quota.WithFallback] sets what happens while Redis is unavailable.
//
// go-redis writes failed connections to standard error, for all of its clients in the program: Disable of its package
// logging ends that. Calls return the same errors.
//
// # Cluster
//
// By default all keys have one hash tag, so they are on one node, and a Take from several keys is atomic. WithGroups
// distributes them. Names of keys are hashed. While a hash slot migrates to another node, calls of its keys may fail.
//
// Redis 6.2 or later is required, with the commands EVALSHA, EVAL, SCAN and SUBSCRIBE. With ACLs, the user needs the
// keys and the channels that begin with the prefix.
package redisstore
