// Package faulttests tests package proxy with toxiproxy between the proxy and its upstream. It is a module of its own, so that
// the proxy does not depend on toxiproxy.
package faulttests
