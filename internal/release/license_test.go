package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const mit = "Copyright (c) A. Miller\n\nPermission is hereby granted, free of charge, to any\n  person obtaining a copy of this software and so on.\n"

func TestIdentify(t *testing.T) {
	for text, want := range map[string]string{
		mit: "MIT",
		"// " + strings.ReplaceAll(mit, "\n", "\n// "):                                                                                              "MIT",
		"                  Apache License\n            Version 2.0, January 2004":                                                                   "Apache-2.0",
		"Mozilla Public License Version 2.0\n GNU General Public License":                                                                           "MPL-2.0",
		"Redistribution and use in source and binary forms, with or without\nmodification, are permitted":                                           "BSD",
		"Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted":                   "ISC",
		"Redistribution and use in source and binary forms, with or without modification, are permitted\nAll advertising materials must mention us": "",
		"GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3":                                                                                              "",
		mit + "The GNU General Public License applies, too.":                                                                                        "",
		mit + "\"Commons Clause\" License Condition v1.0":                                                                                           "",
		"": "",
	} {
		assert.Equal(t, want, identify([]byte(text)), text)
	}
}

func TestLegal(t *testing.T) {
	for name, want := range map[string]bool{
		"LICENSE": true, "LICENCE.md": true, "COPYING": true, "NOTICE.txt": true, "LICENSE-3RD-PARTY.md": true, "uplot.LICENSE.txt": true,
		"PATENTS": true, "LICENSE.libyaml": true, "license_test.go": false, "noticed.md": false, "unlicensed": false, "README.md": false,
	} {
		assert.Equal(t, want, legal.MatchString(name) && filepath.Ext(name) != ".go", name)
	}
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func TestLicensesOfAModule(t *testing.T) {
	all := map[string][]string{}
	dir := folder(t, map[string]string{"COPYING": mit, "NOTICE": "noticed", "sub/LICENSE": "of a part", "testdata/LICENSE": "GNU", "license.go": "package x"})
	require.NoError(t, addLicenses(all, "example.com/x v1.0.0", dir, false))
	require.NoError(t, addLicenses(all, "example.com/y v1.0.0", folder(t, map[string]string{"LICENSE": mit}), false))
	assert.Equal(t, map[string][]string{
		mit:         {"example.com/x v1.0.0, COPYING (MIT)", "example.com/y v1.0.0, LICENSE (MIT)"},
		"noticed":   {"example.com/x v1.0.0, NOTICE"},
		"of a part": {"example.com/x v1.0.0, sub/LICENSE"},
	}, all)

	all = map[string][]string{}
	require.NoError(t, addLicenses(all, "ours v1.0.0", folder(t, map[string]string{"LICENSE": "ours", "page/chart.LICENSE.txt": mit}), true))
	assert.Equal(t, map[string][]string{mit: {"ours v1.0.0, page/chart.LICENSE.txt (MIT)"}}, all)

	for about, files := range map[string]map[string]string{
		"none":       {"x.go": "package x"},
		"unknown":    {"LICENSE": "do what I say"},
		"copyleft":   {"COPYING": "GNU General Public License"},
		"of a part":  {"sub/LICENSE": mit},
		"of a test":  {"testdata/LICENSE": mit},
		"only noted": {"NOTICE": "noticed"},
	} {
		require.ErrorContains(t, addLicenses(all, "example.com/z v1.0.0", folder(t, files), false), "example.com/z v1.0.0 has no licence file", about)
	}
}

func TestNotices(t *testing.T) {
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/stretchr/testify").Output()
	require.NoError(t, err)
	info := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Path: "github.com/stretchr/testify", Version: strings.TrimSpace(string(version))}}
	out, err := notices(info, goEnv("GOMODCACHE"), goEnv("GOROOT"))
	require.NoError(t, err)
	assert.Contains(t, string(out), "\ngo1.26 (BSD)\n\nCopyright")
	assert.Contains(t, string(out), "\ngithub.com/stretchr/testify "+info.Main.Version+", LICENSE (MIT)\n\nMIT License\n\nCopyright (c) 2012-2020 Mat Ryer")
	_, err = notices(info, t.TempDir(), goEnv("GOROOT"))
	require.Error(t, err, "a module that is not there")
}
