// Package faulttests tests package service over SQLite and over Redis: with two servers,
// behind toxiproxy, and while Redis stops or is killed. It is a module of its own, so that
// the service depends neither on stores nor on toxiproxy.
package faulttests
