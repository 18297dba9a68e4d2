package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verdict is how a row or a mutant ended.
type verdict string

const (
	passed  verdict = "passed"
	failed  verdict = "FAILED"
	skipped verdict = "skipped"
)

// result is what a row has shown.
type result struct {
	ID       int            `json:"row"`
	What     string         `json:"what"`
	Verdict  verdict        `json:"verdict"`
	Why      string         `json:"why,omitempty"` // it failed or was skipped
	Counts   counts         `json:"counts,omitempty"`
	Mutants  []mutantResult `json:"mutants,omitempty"`
	Unproven string         `json:"unproven,omitempty"`
	Commands []string       `json:"commands"`
	Seconds  int            `json:"seconds"`
}

// runner runs rows one after the other.
type runner struct {
	out     io.Writer
	root    string // of the repository
	full    bool
	servers bool
	verbose bool
	command func(ctx context.Context, dir string, args []string) (output []byte, err error)
}

// goTest runs go in a folder, and returns what it prints. That its tests fail is in the output.
func goTest(ctx context.Context, dir string, args []string) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // of the table
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, 10*time.Second
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	return out.Bytes(), err
}

func (r *runner) row(ctx context.Context, w *row) (res result) {
	began := time.Now()
	res = result{ID: w.id, What: w.what, Counts: counts{}, Unproven: w.unproven}
	fmt.Fprintf(r.out, "row %d: %s\n", w.id, w.what)
	if ctx.Err() == nil {
		res.Verdict, res.Why = r.judge(ctx, w, &res)
	}
	if ctx.Err() != nil {
		res.Verdict, res.Why = skipped, "interrupted"
	}
	if res.Verdict == skipped && r.full {
		res.Verdict, res.Why = failed, "skipped before a release: "+res.Why
	}
	if len(w.mutants) > 0 && res.Verdict == passed { // else it would fail without a mutant too
		for _, m := range w.mutants {
			caught := r.mutant(ctx, w, m)
			res.Mutants = append(res.Mutants, caught)
			if ctx.Err() != nil {
				res.Verdict, res.Why = skipped, "interrupted"
			} else if caught.Verdict != passed {
				res.Verdict, res.Why = failed, fmt.Sprintf("mutant %q: %s", m.name, caught.By)
			}
		}
	}
	res.Seconds = int(time.Since(began).Round(time.Second).Seconds())
	fmt.Fprintf(r.out, "  %s in %d s: %s\n", res.Verdict, res.Seconds, strings.TrimSpace(res.Counts.String()+"  "+res.Why))
	return res
}

// judge runs the tests of a row.
func (r *runner) judge(ctx context.Context, w *row, res *result) (v verdict, why string) {
	if w.servers && !r.servers {
		return skipped, "needs servers: SERVERS=1"
	}
	if why := r.mixed(ctx, w.apart); why != "" {
		return failed, why
	}
	var missing string
	for _, one := range w.runs {
		t, why := r.repeat(ctx, w.id, one, res)
		if why != "" {
			return failed, why
		}
		if missing = cmp.Or(t.missing, missing); missing != "" {
			continue // its counts are not complete
		}
		if why := broken(pick(one.claims, r.full), t.counts); why != "" {
			if t.part != "" {
				return skipped, t.part
			}
			return failed, why
		}
	}
	if missing != "" {
		return skipped, missing
	}
	return passed, ""
}

// total is what all repetitions of a run have counted.
type total struct {
	counts  counts
	missing string // a test that was skipped
	part    string // the same, or a part of a test
}

// repeat runs one with each of its seeds, and returns why it did not pass.
func (r *runner) repeat(ctx context.Context, id int, one run, res *result) (t total, why string) {
	t.counts = counts{}
	times := 1
	if one.seeds != "" {
		var err error
		if times, err = strconv.Atoi(pick(one.seeds, r.full)); err != nil {
			return t, err.Error()
		}
	}
	for seed := range times {
		args := one.command(r.full)
		if one.seeds != "" {
			args = append(args, "-seed", strconv.Itoa(seed+1))
		}
		o, why := r.run(ctx, id, args, res)
		if why != "" {
			return t, why
		}
		if one.whole && len(o.skipped) > 0 {
			o.counts["skipped"], o.skipped = int64(len(o.skipped)), nil
		}
		for _, name := range o.skipped {
			if t.part = name + ": " + o.reason; !strings.Contains(name, "/") {
				t.missing = t.part
			}
		}
		for name, n := range o.counts {
			t.counts.add(name, n)
			res.Counts.add(name, n)
		}
	}
	return t, ""
}

// run runs one go test, and returns why it did not pass.
func (r *runner) run(ctx context.Context, id int, args []string, res *result) (o outcome, why string) {
	shown := "go " + strings.Join(slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "-json" }), " ")
	res.Commands = append(res.Commands, shown)
	if r.verbose {
		fmt.Fprintln(r.out, "  "+shown)
	}
	output, err := r.command(ctx, r.root, args)
	if err != nil {
		return o, err.Error()
	}
	o, err = read(bytes.NewReader(output), id)
	switch {
	case err != nil:
		return o, err.Error()
	case o.broken || o.ended || len(o.failed) > 0:
		for _, s := range o.failure[:min(len(o.failure), 60)] {
			fmt.Fprintln(r.out, "    "+s)
		}
		return o, strings.TrimSpace(strings.Join(o.failed[:min(len(o.failed), 1)], "") + ": " + o.headline())
	case o.passed+len(o.skipped) == 0:
		return o, strings.TrimSpace("no test ran: " + shown + ": " + o.headline())
	}
	return o, ""
}

// broken says which claim the counts break, if any.
func broken(claims string, found counts) string {
	all, err := parseClaims(claims)
	if err != nil {
		return err.Error()
	}
	for _, c := range all {
		if v := c.violation(found); v != "" {
			return v
		}
	}
	return ""
}
