// Package report plays scenarios with contenders and writes what came of it as
// tables of Markdown.
//
// Every cell is a world of its own, so they are played on all processors and
// their order does not matter. A figure is relative to what the oracle got in
// the same world from the same seed, and a mean over seeds.
package report
