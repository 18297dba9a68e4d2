package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is a fault that is put into the code, and that a test has to notice.
type mutant struct {
	name     string
	file     string // below the root of the repository
	old, new string // text of the file: old occurs in it once
	run      run
	by       string // a regular expression of what the failure has to say
}

// mutantResult is how a mutant was caught, or that it was not.
type mutantResult struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	By      string  `json:"by"`
}

// mutant runs the tests with the fault in the code, by an overlay: the tree is not touched.
func (r *runner) mutant(ctx context.Context, w *row, m mutant) mutantResult {
	not := func(why string) mutantResult {
		fmt.Fprintf(r.out, "  mutant NOT caught: %s: %s\n", m.name, why)
		return mutantResult{m.name, failed, why}
	}
	dir, err := os.MkdirTemp("", "scorecard")
	if err != nil {
		return not(err.Error())
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(r.root, dir)
	if err != nil {
		return not(err.Error())
	}
	output, err := r.command(ctx, r.root, slices.Insert(m.run.command(false), 2, "-overlay", overlay))
	if err != nil {
		return not(err.Error())
	}
	o, err := read(bytes.NewReader(output), w.id)
	if err != nil {
		return not(err.Error())
	}
	by, why := m.caught(o)
	if why != "" {
		return not(why)
	}
	fmt.Fprintf(r.out, "  mutant caught: %s: %s\n", m.name, by)
	return mutantResult{m.name, passed, by}
}

// overlay writes the file with the fault, and what has go read it instead.
func (m *mutant) overlay(root, dir string) (path string, err error) {
	path, err = filepath.Abs(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path) //nolint:gosec // of the table
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("the text to replace is %d times in %s", n, m.file)
	}
	faulty := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(faulty, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil { //nolint:gosec // in a folder of ours
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: faulty}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// caught says which failure caught the mutant, or why it is not caught.
func (m *mutant) caught(o outcome) (by, why string) {
	switch {
	case o.broken:
		return "", "it does not compile: " + o.headline()
	case len(o.failed) == 0:
		return "", "no test failed"
	}
	said, err := regexp.Compile(m.by)
	if err != nil {
		return "", err.Error()
	}
	for _, s := range o.failure {
		if at := said.FindStringIndex(s); at != nil {
			return o.failed[0] + ": " + strings.TrimSpace(s[max(0, at[0]-60):min(len(s), at[1]+60)]), ""
		}
	}
	return "", fmt.Sprintf("%s failed, but not with %q: %s", o.failed[0], m.by, o.headline())
}
