// Package inside lets package flow look inside nodes.
package inside

// Key is the argument of the method Inside of the nodes of package node. Only
// packages of headrace can name it, so no other node has that method by accident.
type Key struct{}

// Judged is embedded in an error that says nothing about a provider: each of its parts has been judged by itself, or it
// is that of a caller.
type Judged struct{}

// Inside marks the error.
func (Judged) Inside(Key) {}
