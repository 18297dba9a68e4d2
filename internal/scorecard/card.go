package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// card is a run of the scorecard.
type card struct {
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Sizes   string    `json:"sizes"`
	Machine machine   `json:"machine"`
	Rows    []result  `json:"rows"`
}

// machine is the class of the machine that it ran on.
type machine struct {
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Go    string `json:"go"`
}

func thisMachine() machine {
	return machine{runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()}
}

func sizesOf(full bool) string {
	if full {
		return "before a release"
	}
	return "on every change"
}

// commit is that of the tree, and whether there are changes to it.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil || len(bytes.TrimSpace(changes)) > 0 {
		return string(bytes.TrimSpace(head)) + " with changes"
	}
	return string(bytes.TrimSpace(head))
}

func (c *card) failed() bool {
	return slices.ContainsFunc(c.Rows, func(r result) bool { return r.Verdict == failed })
}

func (c *card) number(v verdict) (n int) {
	for i := range c.Rows {
		if c.Rows[i].Verdict == v {
			n++
		}
	}
	return n
}

func (c *card) seconds() (n int) {
	for i := range c.Rows {
		n += c.Rows[i].Seconds
	}
	return n
}

// String lists the counts by name.
func (c counts) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all = append(all, fmt.Sprintf("%s=%d", name, c[name]))
	}
	return strings.Join(all, " ")
}

// write writes the page and the data of the run into a folder.
func (c *card) write(dir string) error {
	data, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "scorecard.json"), append(data, '\n'), 0o644); err != nil { //nolint:gosec // a page of the repository
		return err
	}
	return os.WriteFile(filepath.Join(dir, "scorecard.md"), []byte(c.page()), 0o644) //nolint:gosec // a page of the repository
}
