package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// sibling is a module of the repository.
type sibling struct {
	Path     string
	Dir      string   // below the root of the tree, with slashes; "." is the root itself
	Requires []string // paths of other siblings
}

// tag is the name of the Git tag that makes a version of the module available.
func (s *sibling) tag(version string) string {
	if s.Dir == "." {
		return version
	}
	return path.Join(s.Dir, version)
}

// siblings returns the modules of a workspace. Each comes after those that it requires.
func siblings(tree string) ([]*sibling, error) {
	work, err := readWork(tree)
	if err != nil {
		return nil, err
	}
	files := map[string]*modfile.File{}
	all := map[string]*sibling{}
	for _, use := range work.Use {
		f, err := readMod(filepath.Join(tree, use.Path))
		if err != nil {
			return nil, err
		}
		s := &sibling{Path: f.Module.Mod.Path, Dir: path.Clean(filepath.ToSlash(use.Path))}
		files[s.Path], all[s.Path] = f, s
	}
	for name, f := range files {
		for _, r := range f.Require {
			if all[r.Mod.Path] != nil {
				all[name].Requires = append(all[name].Requires, r.Mod.Path)
			}
		}
	}
	return ordered(all)
}

func ordered(all map[string]*sibling) ([]*sibling, error) {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var sorted []*sibling
	state := map[string]int{} // 1: being visited, 2: placed
	var visit func(name string) error
	visit = func(name string) error {
		switch state[name] {
		case 1:
			return fmt.Errorf("%s requires itself through other modules of the repository: their versions cannot be tagged in any order", name)
		case 2:
			return nil
		}
		state[name] = 1
		for _, other := range all[name].Requires {
			if err := visit(other); err != nil {
				return err
			}
		}
		state[name] = 2
		sorted = append(sorted, all[name])
		return nil
	}
	for _, name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// setVersion has all modules of a tree require each other in one version, and the workspace replace that version with
// the tree. Checksums of siblings are removed from go.sum: those of an earlier version are wrong now.
func setVersion(tree string, all []*sibling, version string) error {
	for _, s := range all {
		dir := filepath.Join(tree, s.Dir)
		f, err := readMod(dir)
		if err != nil {
			return err
		}
		for _, other := range s.Requires {
			if err := f.AddRequire(other, version); err != nil {
				return err
			}
		}
		f.Cleanup()
		text, err := f.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o666); err != nil { //nolint:gosec // as git has it
			return err
		}
		if err := addSums(dir, all, nil); err != nil {
			return err
		}
	}
	return setWork(tree, version)
}

func setWork(tree, version string) error {
	work, err := readWork(tree)
	if err != nil {
		return err
	}
	var replaced []modfile.Replace
	for _, r := range work.Replace {
		replaced = append(replaced, *r) // dropping one clears it
	}
	for _, r := range replaced {
		if err := errors.Join(work.DropReplace(r.Old.Path, r.Old.Version), work.AddReplace(r.Old.Path, version, r.New.Path, r.New.Version)); err != nil {
			return err
		}
	}
	work.Cleanup()
	return os.WriteFile(filepath.Join(tree, "go.work"), modfile.Format(work.Syntax), 0o666) //nolint:gosec // as git has it
}

func readWork(tree string) (*modfile.WorkFile, error) {
	name := filepath.Join(tree, "go.work")
	text, err := os.ReadFile(name) //nolint:gosec // a tree that the caller chose
	if err != nil {
		return nil, err
	}
	return modfile.ParseWork(name, text, nil)
}

func readMod(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name) //nolint:gosec // a tree that the caller chose
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(name, text, nil)
	if err == nil && f.Module == nil {
		err = fmt.Errorf("%s: there is no module line", name)
	}
	return f, err
}

func (s *sibling) at(version string) module.Version {
	return module.Version{Path: s.Path, Version: version}
}
