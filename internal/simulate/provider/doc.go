// Package provider is the other side of the wire: a service with limits that a
// client can only guess. It imports nothing of ours and has no code in common
// with what is measured against it. Time is an argument; a Provider is a pure
// state machine of one simulated world.
//
// A [Config] says which limits there are and how much the provider tells of
// them. [Provider.Arrive] decides about a call when it arrives and
// [Provider.Depart] ends it; between the two lies its latency, which is the
// world's business.
package provider
