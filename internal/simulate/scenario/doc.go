// Package scenario lists the worlds that policies are measured in: the twelve
// of the table, those beyond them, and as many random ones as you like.
package scenario
