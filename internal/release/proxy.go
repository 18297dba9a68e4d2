package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// proxy is a folder that Go takes modules from, as GOPROXY=file://..., in the layout of
// https://go.dev/ref/mod#goproxy-protocol.
type proxy struct {
	dir string
}

// publish adds a version of every module of a tree. The go.sum files of the tree get the checksums, so that each
// module can be built without the workspace. all must be in the order of siblings. As in modules that Go reads from a
// repository, those in folders have the licence of the root: https://go.dev/ref/mod#vcs-license.
func (p *proxy) publish(tree string, all []*sibling, version string, at time.Time) error {
	license, err := os.ReadFile(filepath.Join(tree, "LICENSE")) //nolint:gosec // a tree that the caller chose
	if err != nil {
		return err
	}
	sums := map[string][]string{}
	for _, s := range all {
		dir := filepath.Join(tree, s.Dir)
		if err := os.WriteFile(filepath.Join(dir, "LICENSE"), license, 0o666); err != nil { //nolint:gosec // as git has it
			return err
		}
		var known []string
		for _, other := range s.Requires {
			known = append(known, sums[other]...)
		}
		if err := addSums(dir, all, known); err != nil {
			return err
		}
		lines, err := p.add(s.at(version), dir, at)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
		sums[s.Path] = lines
	}
	return nil
}

// add adds one version, and returns its lines for go.sum.
func (p *proxy) add(m module.Version, dir string, at time.Time) (sums []string, err error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return nil, err
	}
	versions := filepath.Join(p.dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o777); err != nil { //nolint:gosec // readable by all users
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // a tree that the caller chose
	if err != nil {
		return nil, err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, at.UTC()})
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	if err := zip.CreateFromDir(&packed, m, dir); err != nil {
		return nil, err
	}
	base := filepath.Join(versions, m.Version)
	for name, data := range map[string][]byte{
		filepath.Join(versions, "list"): []byte(m.Version + "\n"), base + ".info": info, base + ".mod": mod, base + ".zip": packed.Bytes(),
	} {
		if err := os.WriteFile(name, data, 0o666); err != nil { //nolint:gosec // readable by all users
			return nil, err
		}
	}
	return checksums(m, base+".zip", mod)
}

// checksums are the two lines of go.sum for a version.
func checksums(m module.Version, packed string, mod []byte) ([]string, error) {
	whole, err := dirhash.HashZip(packed, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	alone, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(mod)), nil })
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("%s %s %s\n", m.Path, m.Version, whole),
		fmt.Sprintf("%s %s/go.mod %s\n", m.Path, m.Version, alone),
	}, nil
}

// addSums replaces the lines of siblings in the go.sum of a module.
func addSums(dir string, all []*sibling, sums []string) error {
	name := filepath.Join(dir, "go.sum")
	text, err := os.ReadFile(name) //nolint:gosec // a tree that the caller chose
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	lines := map[module.Version]string{}
	for _, line := range append(slices.Collect(strings.Lines(string(text))), sums...) {
		of, rest, _ := strings.Cut(line, " ")
		version, _, _ := strings.Cut(rest, " ")
		if slices.Contains(sums, line) || !slices.ContainsFunc(all, func(s *sibling) bool { return s.Path == of }) {
			lines[module.Version{Path: of, Version: version}] = line
		}
	}
	if len(lines) == 0 {
		return nil
	}
	versions := slices.Collect(maps.Keys(lines))
	module.Sort(versions)
	var sorted strings.Builder
	for _, v := range versions {
		sorted.WriteString(lines[v])
	}
	return os.WriteFile(name, []byte(sorted.String()), 0o666) //nolint:gosec // as git has it
}
