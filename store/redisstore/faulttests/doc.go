// Package faulttests tests package redisstore under faults: of the network, with toxiproxy, and of Redis. It is a module of
// its own, so that the store does not depend on toxiproxy.
package faulttests
