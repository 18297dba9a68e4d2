// Package benchmarks measures headrace beside its peers, all in one run on
// one machine, so that every figure in the documentation can be had again.
//
// It is a module of its own: what the peers depend on never reaches a user of
// the core. It holds benchmarks only and exports nothing; run them with
// make bench.
package benchmarks
