// Package group lets processes share limits that the provider does not disclose: one of
// them, or a service, admits the calls of all and learns from all results.
//
//	g, err := group.Join(ctx, "unix:/run/user/1000/acme.sock")
//	acme, err := g.Guard(guard.Policy{Name: "acme"})
//	client := &http.Client{Transport: headrace.Transport(nil, "", headrace.Within(acme))}
//
// Processes on several hosts join a service, by https://HOST:PORT: see [Handler].
//
// The guards work with nodes, executors and transports like any other. The first process
// is the leader. The heads of the members' queues wait in one queue, first come, first
// served, so each member gets an equal share. If the leader is killed, another member
// takes over within a second, with what was learned up to a second before; calls in
// flight count until they end, and pauses are kept. A stopped leader is replaced after
// about four seconds, and resigns at most a quarter of a second after it continues.
// Members without a leader use an equal share of each limit. A leader that is not the
// first at its path makes its first call after a quarter of a second.
//
// Only processes of one user can be members at a path: the mode of the socket is 0600,
// and Linux reports the user at the other end.
//
// A new leader does not know what was sent in the windows of configured Limits: they
// may be used twice in the first period. If that must not happen, use
// guard.Policy.Store instead.
package group
