// Package goodput measures how much of what a provider allows a client gets,
// over real HTTP: headrace and its peers each call a providertest.Server of
// their own, and the server's ledger says what was admitted and what was
// refused. The figure beside each is that of the same provider in the project's
// simulator, so that one can be held against the other.
//
// make goodput runs it and writes docs/goodput.md. A run takes as long as its
// [Times] say: the clients wait, they do not compute.
package goodput
