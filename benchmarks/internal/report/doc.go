// Package report reads what several passes of the benchmarks measured, sets
// the contenders of each operation in relation, judges the targets and writes
// the page.
package report
