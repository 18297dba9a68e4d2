package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// terms are the licences that what is compiled in may have, each with a passage that its text contains.
var terms = [...][2]string{ //nolint:gochecknoglobals // a constant
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"BSD", "redistribution and use in source and binary forms, with or without modification, are permitted"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
}

// others are conditions beside which a text of terms does not count. The MPL mentions the GNU licences.
var others = regexp.MustCompile(`gnu (lesser |affero )?general public|advertising materials|commons clause`)

// marks of comments begin the lines of some texts.
var marks = regexp.MustCompile(`(?m)^\s*(//|#|\*)`)

// identify names the licence of a text, or returns "".
func identify(text []byte) string {
	words := strings.ToLower(strings.Join(strings.Fields(marks.ReplaceAllString(string(text), "")), " "))
	for _, t := range terms {
		if strings.Contains(words, t[1]) && (t[0] == "MPL-2.0" || !others.MatchString(words)) {
			return t[0]
		}
	}
	return ""
}

// legal matches the names of files with licences, also of single files such as uplot.LICENSE.txt.
var legal = regexp.MustCompile(`(?i)(^|\.)(licen[cs]e|copying|copyright|notice|patents)([-._][\w-]+)*$`)

// notices returns the licences of all that a binary contains besides this repository's own code: of Go, of the modules in
// modules, a module cache, and of files embedded in this repository's packages. It refuses a module with a licence that
// is missing or not one of terms.
func notices(info *debug.BuildInfo, modules, goroot string) ([]byte, error) {
	golang, err := os.ReadFile(filepath.Join(goroot, "LICENSE")) //nolint:gosec // of the Go in use
	if err != nil {
		return nil, err
	}
	all := map[string][]string{string(golang): {info.GoVersion + " (" + identify(golang) + ")"}} // text -> what it is for
	for _, dep := range append(info.Deps, &info.Main) {
		path, err := module.EscapePath(dep.Path)
		if err != nil {
			return nil, err
		}
		own := dep.Path == repository || strings.HasPrefix(dep.Path, repository+"/")
		if err := addLicenses(all, dep.Path+" "+dep.Version, filepath.Join(modules, path+"@"+dep.Version), own); err != nil {
			return nil, err
		}
	}
	texts := make([]string, 0, len(all))
	for text := range all {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(all[a][0], all[b][0]) })
	out := bytes.NewBufferString("The binary of headrace contains the software below.\n")
	for _, text := range texts {
		fmt.Fprintf(out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(all[text], "\n"), strings.TrimSpace(text))
	}
	return out.Bytes(), nil
}

// addLicenses adds the licences of the module in dir. Those of tests are not compiled in, nor is that of this repository foreign.
func addLicenses(all map[string][]string, name, dir string, own bool) error {
	named := own
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "testdata" {
				err = filepath.SkipDir
			}
			return err
		}
		file, err := filepath.Rel(dir, at)
		if err != nil || !legal.MatchString(d.Name()) || own && file == "LICENSE" || filepath.Ext(file) == ".go" {
			return err
		}
		text, err := os.ReadFile(at) //nolint:gosec // in the module cache
		if err != nil {
			return err
		}
		id := identify(text)
		named = named || id != "" && filepath.Dir(file) == "."
		about := name + ", " + filepath.ToSlash(file)
		if id != "" {
			about += " (" + id + ")"
		}
		all[string(text)] = append(all[string(text)], about)
		return nil
	})
	if err == nil && !named {
		err = fmt.Errorf("%s has no licence file, or none of a licence that may be shipped in a binary", name)
	}
	return err
}
