package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// outcome is what a go test has shown.
type outcome struct {
	counts  counts
	passed  int      // tests and fuzz targets, without their parts
	failed  []string // tests, by name
	skipped []string // tests, by name; those of a suite that do not apply are parts of one that passed
	broken  bool     // a package does not build
	ended   bool     // a package failed, not only one of its tests
	failure []string // what failing tests and packages printed
	reason  string   // why a test was skipped
}

// event is a line of go test -json (go doc test2json).
type event struct{ Action, Package, Test, Output string }

var (
	line   = regexp.MustCompile(`^\s+\w+\.go:\d+: scorecard: row=(\d+)((?: [a-z][a-z0-9_]*=\d+)+)$`)
	checks = regexp.MustCompile(`\[rapid\] OK, passed (\d+) tests`)
	execs  = regexp.MustCompile(`^fuzz: elapsed: .* execs: (\d+) `)
	skip   = regexp.MustCompile(`^\s+\w+\.go:\d+: (.+)$`)
)

// read returns the outcome of a go test, of which the counts of one row matter.
func read(r io.Reader, row int) (o outcome, err error) {
	o.counts = counts{}
	said := map[string][]string{}
	lines := bufio.NewReader(r)
	for {
		text, err := lines.ReadString('\n')
		if text != "" {
			if err := o.event(text, row, said); err != nil {
				return o, err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return o, err
		}
	}
	if n := o.counts["runs"]; n > 0 { // of this fuzz target: the last line says how often
		o.counts["execs"] = n
		delete(o.counts, "runs")
	}
	o.counts["tests"] = int64(o.passed)
	return o, nil
}

func (o *outcome) event(text string, row int, said map[string][]string) error {
	var e event
	if !strings.HasPrefix(text, "{") { // go itself says it
		o.failure = append(o.failure, strings.TrimRight(text, "\n"))
		return nil
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return fmt.Errorf("scorecard: %q: %w", text, err)
	}
	of := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		said[of] = append(said[of], strings.TrimRight(e.Output, "\n"))
		return o.count(strings.TrimRight(e.Output, "\n"), row)
	case "build-output":
		o.failure = append(o.failure, strings.TrimRight(e.Output, "\n"))
	case "build-fail":
		o.broken = true
	case "pass", "skip", "fail":
		o.end(e, said[of])
		delete(said, of)
	}
	return nil
}

// end notes how a test or a package ended.
func (o *outcome) end(e event, said []string) {
	part := strings.Contains(e.Test, "/")
	switch {
	case e.Action == "fail":
		o.failure = append(o.failure, said...)
		if e.Test != "" {
			o.failed = append(o.failed, e.Test)
		} else {
			o.ended = true
		}
	case e.Action == "skip" && e.Test != "":
		o.skipped = append(o.skipped, e.Test)
		for _, s := range said {
			if m := skip.FindStringSubmatch(s); m != nil {
				o.reason = m[1]
			}
		}
	case e.Action == "pass" && part:
		o.counts["cases"]++
	case e.Action == "pass" && e.Test != "":
		o.passed++
	}
}

// count reads a line that reports counts: ours, that of rapid, or that of fuzzing.
func (o *outcome) count(text string, row int) error {
	if m := checks.FindStringSubmatch(text); m != nil {
		return o.add("checks", m[1])
	}
	if m := execs.FindStringSubmatch(text); m != nil {
		delete(o.counts, "runs")
		return o.add("runs", m[1])
	}
	if !strings.Contains(text, "scorecard: ") {
		return nil
	}
	m := line.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("scorecard: %q is not a line of counts such as: scorecard: row=5 kills=10 lost=0", text)
	}
	if m[1] != strconv.Itoa(row) {
		return nil // of another row that the same test proves
	}
	for field := range strings.FieldsSeq(m[2]) {
		name, n, _ := strings.Cut(field, "=")
		if name == "tests" || name == "skipped" || name == "cases" || name == "checks" || name == "execs" || name == "runs" {
			return fmt.Errorf("scorecard: %q has a count of the scorecard's own", text)
		}
		if err := o.add(name, n); err != nil {
			return err
		}
	}
	return nil
}

func (o *outcome) add(name, digits string) error {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return fmt.Errorf("scorecard: %s: %w", name, err)
	}
	o.counts.add(name, n)
	return nil
}

// chatter is what a test prints that says nothing about its failure.
var chatter = regexp.MustCompile(`^(===|---|FAIL$|$)|\[rapid\] (OK|draw)|scorecard: `)

// headline is the line of the failure that says most.
func (o *outcome) headline() string {
	for _, s := range o.failure {
		if s = strings.TrimSpace(s); !chatter.MatchString(s) {
			return s
		}
	}
	return ""
}
