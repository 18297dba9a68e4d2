// Package freeport chooses TCP ports for servers that tests start by number.
//
// A port that the system chose, for a listener on port 0 that was closed, is of the range that it also uses for the
// local ends of connections and for other listeners on port 0: any of them may take it before the server has it. The
// ports here are below that range.
package freeport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	first, after = 10_000, 32_000
	attempts     = 1000
)

// Choose returns a port of 127.0.0.1 that is free, as are those that lie above it by more.
func Choose(ctx context.Context, more ...int) (int, error) {
	highest := 0
	for _, above := range more {
		highest = max(highest, above)
	}
next:
	for range attempts {
		port := first + rand.IntN(after-first-highest) //nolint:gosec // any will do
		for _, above := range append([]int{0}, more...) {
			if !free(ctx, port+above) {
				continue next
			}
		}
		return port, nil
	}
	return 0, errors.New("freeport: no free port")
}

// Address returns 127.0.0.1 and a port that Choose returned.
func Address(ctx context.Context) (string, error) {
	port, err := Choose(ctx)
	return address(port), err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func free(ctx context.Context, port int) bool {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address(port))
	return err == nil && l.Close() == nil
}
