// Package benchmarks measures headrace beside its peers, all in one run on
// one machine, so that every figure in the documentation can be had again.
//
// Speed is measured by ordinary benchmarks, named operation/contender. What a
// limiter does to its callers, such as how many it admits too many, is counted
// by tests in the virtual time of testing/synctest, which note the figures as
// attributes. make bench runs both and writes docs/benchmarks.md.
//
// It is a module of its own: what the peers depend on never reaches a user of
// the core.
package benchmarks
