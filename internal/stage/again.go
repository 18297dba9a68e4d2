package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	repetitions = 5
	mostAgain   = 3 // tests
)

// again decides which tests of a run that failed are repeated, or returns nil if the failure stands: more than a few tests
// failed, a package failed by more than its tests (a build, a leak, a timeout), or a test printed what is fatal.
func (b *board) again() []test {
	if b.fatal {
		return nil
	}
	failed := map[test]bool{}
	for _, f := range b.failed {
		if f.name == "" {
			return nil
		}
		top, _, _ := strings.Cut(f.name, "/")
		failed[test{f.pkg, top}] = true
	}
	if len(failed) > mostAgain {
		return nil
	}
	return slices.SortedFunc(maps.Keys(failed), func(a, b test) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
}

// isFatal finds output that no repetition excuses: it is a defect even if it is seen once.
func isFatal(output string) bool {
	return strings.Contains(output, "WARNING: DATA RACE") || strings.HasPrefix(output, "panic: ") || strings.HasPrefix(output, "fatal error: ")
}

// repeat runs each test alone, several times, and then its package once, because goleak looks for goroutines only where no
// test has failed. It reports whether all passed.
func repeat(out io.Writer, tests []test, args []string) (passed bool) {
	passed = len(tests) > 0
	packages := map[string]bool{}
	for _, of := range tests {
		packages[of.pkg] = true
		alone := only(args, "-run=^"+regexp.QuoteMeta(of.name)+"$", fmt.Sprintf("-count=%d", repetitions), of.pkg)
		passed = passed && run(out, "again, "+of.String(), alone) == 0
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		passed = passed && run(out, "again, "+short(pkg), only(args, "-count=1", pkg)) == 0
	}
	return passed
}

// only replaces the packages of a go test, which are the workspace or folders in it. The flags of a test follow them.
func only(args []string, replacement ...string) []string {
	isPackage := func(arg string) bool { return arg == "work" || strings.HasPrefix(arg, "./") }
	first := slices.IndexFunc(args, isPackage)
	if first < 0 {
		return slices.Concat(args, replacement)
	}
	return slices.Concat(args[:first], replacement, slices.DeleteFunc(slices.Clone(args[first:]), isPackage))
}
