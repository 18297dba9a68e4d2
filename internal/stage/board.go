package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	quiet   = 15 * time.Second // the longest time without a line
	slowest = 5                // packages that the last line names
	ours    = "github.com/headrace/headrace/"
)

// board is what is known of a stage.
type board struct {
	out     io.Writer
	name    string
	verbose bool

	began   time.Time
	running map[string]time.Time // packages, and since when
	said    map[test]*bytes.Buffer
	ended   []ended
	failed  []test
	fatal   bool // a failure that no repetition excuses
}

type test struct{ pkg, name string } // name is "" for the package itself

func (t test) String() string { return strings.TrimSpace(short(t.pkg) + " " + t.name) }

type ended struct {
	pkg  string
	took float64 // seconds
}

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// follow prints lines until done.
func (b *board) follow(lines <-chan []byte, done <-chan struct{}) {
	b.began, b.running, b.said = time.Now(), map[string]time.Time{}, map[test]*bytes.Buffer{}
	silence := time.NewTicker(quiet)
	defer silence.Stop()
	for {
		select {
		case <-done:
			return
		case line := <-lines:
			if b.line(line) {
				silence.Reset(quiet)
			}
		case <-silence.C:
			b.beat()
		}
	}
}

// line reports whether something was printed.
func (b *board) line(line []byte) (printed bool) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		return b.print(line)
	}
	of := test{e.Package, e.Test}
	switch e.Action {
	case "start":
		b.running[e.Package] = time.Now()
	case "build-output":
		return b.print([]byte(e.Output))
	case "output":
		b.fatal = b.fatal || isFatal(e.Output)
		if b.verbose {
			return b.print([]byte(e.Output))
		}
		if strings.HasPrefix(e.Output, "=== ") { // which test goes on
			return false
		}
		if b.said[of] == nil {
			b.said[of] = &bytes.Buffer{}
		}
		_, _ = b.said[of].WriteString(e.Output)
	case "pass", "skip", "fail":
		return b.over(of, e)
	}
	return false
}

func (b *board) over(of test, e event) (printed bool) {
	said := b.said[of]
	delete(b.said, of)
	if e.Action == "fail" && of.name != "" {
		b.failed = append(b.failed, of)
	}
	if of.name != "" {
		return e.Action == "fail" && said != nil && b.print(said.Bytes())
	}
	delete(b.running, of.pkg)
	b.ended = append(b.ended, ended{short(of.pkg), e.Elapsed})
	if e.Action == "fail" {
		if !slices.ContainsFunc(b.failed, func(f test) bool { return f.pkg == of.pkg }) {
			b.failed = append(b.failed, of)
		}
		printed = b.unfinished(of.pkg)
	}
	if said == nil {
		return printed
	}
	for text := range bytes.Lines(said.Bytes()) {
		if e.Action == "fail" || bytes.HasPrefix(text, []byte("ok")) {
			printed = b.print(text) || printed
		}
	}
	return printed
}

// unfinished prints the output of the tests that a panic or a timeout has ended.
func (b *board) unfinished(pkg string) (printed bool) {
	for _, of := range slices.SortedFunc(maps.Keys(b.said), func(a, b test) int { return cmp.Compare(a.name, b.name) }) {
		if of.pkg == pkg {
			printed = b.print(b.said[of].Bytes()) || printed
			delete(b.said, of)
		}
	}
	return printed
}

func (b *board) print(text []byte) bool {
	_, _ = b.out.Write(text)
	return true
}

// beat prints how long the stage has taken, and which packages run.
func (b *board) beat() {
	now := time.Now()
	line := fmt.Sprintf("   %s, %s", b.name, now.Sub(b.began).Round(time.Second))
	if len(b.ended) > 0 {
		line += fmt.Sprintf(", %d packages have ended", len(b.ended))
	}
	var running []string
	for _, pkg := range slices.Sorted(maps.Keys(b.running)) {
		running = append(running, fmt.Sprintf("%s for %s", short(pkg), now.Sub(b.running[pkg]).Round(time.Second)))
	}
	if len(running) > 0 {
		line += "; running: " + strings.Join(running, ", ")
	}
	_, _ = fmt.Fprintln(b.out, line)
}

// end prints how the stage ended, and what was slow.
func (b *board) end(passed bool) {
	took := time.Since(b.began).Round(time.Second)
	if !passed {
		_, _ = fmt.Fprintf(b.out, "== %s: FAILED after %s: %s\n", b.name, took, list(b.failed))
		return
	}
	slices.SortStableFunc(b.ended, func(a, b ended) int { return cmp.Compare(b.took, a.took) })
	var slow []string
	for _, e := range b.ended[:min(slowest, len(b.ended))] {
		slow = append(slow, fmt.Sprintf("%s %.0f s", e.pkg, e.took))
	}
	line := fmt.Sprintf("== %s: passed in %s", b.name, took)
	if len(slow) > 1 {
		line += "; slowest: " + strings.Join(slow, ", ")
	}
	_, _ = fmt.Fprintln(b.out, line)
}

func list(tests []test) string {
	var names []string
	for _, t := range tests {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

func short(pkg string) string { return strings.TrimPrefix(pkg, ours) }
