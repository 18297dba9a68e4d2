package main

import (
	"regexp"
	"strings"
)

// row is a line of the scorecard. In its texts {a|b} is a on every change, and b before a release.
type row struct {
	id      int
	what    string
	runs    []run
	mutants []mutant
	// apart lists judges and rigs, each with the packages that it must not import: "judge: judged judged".
	apart    []string
	servers  bool   // it needs servers that are not started on every change
	unproven string // what of the row no test measures
}

// run is a go test of some packages, separated by spaces.
type run struct {
	packages string
	tests    string // the regular expression of -run, or the name of a fuzz target
	flags    string
	seeds    string // how often it runs, with -seed 1, 2, ...; "" is once, without that flag
	claims   string // on its counts, such as "kills>={10|500} lost=0"
	whole    bool   // it is all tests of its packages: those that are skipped, such as counts of allocations with -race, are counted
}

var sized = regexp.MustCompile(`\{([^|{}]*)\|([^|{}]*)\}`)

// pick returns text with the sizes of every change or of a release.
func pick(text string, full bool) string {
	if full {
		return sized.ReplaceAllString(text, "$2")
	}
	return sized.ReplaceAllString(text, "$1")
}

func (r run) fuzzes() bool { return strings.HasPrefix(r.tests, "Fuzz") }

// command is the arguments of go for the run.
func (r run) command(full bool) []string {
	args := []string{"test", "-json", "-count=1"}
	switch {
	case r.fuzzes():
		args = append(args, "-run", "^$", "-fuzz", "^"+r.tests+"$", "-fuzzminimizetime", "1s")
	case r.tests != "":
		args = append(args, "-run", r.tests)
	}
	args = append(args, "-timeout", pick("{20m|72h}", full))
	args = append(args, strings.Fields(pick(r.packages, full))...)
	return append(args, strings.Fields(pick(r.flags, full))...)
}
