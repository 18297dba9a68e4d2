// Package faulttests tests package redisstore under faults: of the network, with toxiproxy, of Redis and of its clock,
// and of a cluster. It is a module of its own, so that the store does not depend on toxiproxy.
package faulttests
