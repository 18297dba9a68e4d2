// Package servicestore keeps limits in a server of package service: a [quota.Store] for guards.
//
//	store, err := servicestore.Open("https://limits.internal:8790", servicestore.WithToken(token))
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	g, err := guard.New(guard.Policy{Name: "openai", Limits: limits, Store: store})
//
// For a registry, Config.Open["service"] is registry.OpenStore(servicestore.Open, servicestore.WithToken(token)), and the address
// is service:https://limits.internal:8790, service:http://127.0.0.1:8790 or service:unix:/run/headrace.sock.
//
// The limits are those of the guards. They are separate from the configured limits of the server, which a program
// checks with the generated client of package ratelimitpb. Keys are UTF-8, of at most 1,024 bytes.
//
// Concurrent calls share a request, which contains equal calls once, with their number.
//
// # Failures
//
// A method returns when its context ends, or with an *UnavailableError after WithTimeout. If the answer to a Take
// arrives up to 30 s later, for example because the server was suspended, what it granted is given back. If the answer is
// lost with the connection, the units count as used, and the lease lapses. A lost connection is made again, with at most a second between two
// attempts; until then calls fail at once. [quota.WithFallback] sets what happens then.
package servicestore
