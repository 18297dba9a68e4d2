package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	summary  = "Call rate-limited APIs as fast as they allow, without losing a request"
	homepage = "https://github.com/headrace/headrace"
	license  = "Apache-2.0"
)

// npmName is how npm names a target.
func (t target) npmName() (os, cpu string) {
	os, cpu = t.OS, t.Arch
	if os == "windows" {
		os = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return os, cpu
}

func (t target) npmPackage() string {
	os, cpu := t.npmName()
	return "@headrace/" + os + "-" + cpu
}

// launcher runs the binary of the package for this system.
const launcher = `#!/usr/bin/env node
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");
const name = "@headrace/" + process.platform + "-" + process.arch;
let binary;
try {
  binary = require.resolve(name + "/bin/headrace" + (process.platform === "win32" ? ".exe" : ""));
} catch {
  console.error("headrace: there is no binary for this system: the package " + name + " is not installed.\n" +
    "npm leaves it out with --omit=optional or --no-optional; see ` + homepage + ` for other ways to install.");
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => { if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal); }); // a terminal sends SIGINT to both
}
child.on("error", (error) => { console.error("headrace: " + error.message); process.exit(1); });
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
`

// npmTarget writes the package that carries the binary of one target.
func npmTarget(dir, version string, at time.Time, t target, binary []byte, about texts) error {
	os, cpu := t.npmName()
	description, err := json.MarshalIndent(map[string]any{
		"name": t.npmPackage(), "version": bare(version), "description": "The binary of headrace for " + t.String(),
		"license": license, "homepage": homepage, "os": []string{os}, "cpu": []string{cpu}, "preferUnplugged": true,
	}, "", "  ")
	if err != nil {
		return err
	}
	return tarball(filepath.Join(dir, fmt.Sprintf("headrace-%s-%s-%s.tgz", os, cpu, bare(version))), at, append(about.licenses("package/"), []file{
		{name: "package/package.json", data: append(description, '\n')},
		{name: "package/bin/" + t.exe(), data: binary, exec: true},
	}...))
}

// npmMain writes the package that users name. It depends on those of the targets, of which npm installs one.
func npmMain(dir, version string, at time.Time, targets []target, about texts) error {
	optional := map[string]string{}
	for _, t := range targets {
		optional[t.npmPackage()] = bare(version)
	}
	description, err := json.MarshalIndent(map[string]any{
		"name": "headrace", "version": bare(version), "description": summary, "license": license, "homepage": homepage,
		"bin": map[string]string{"headrace": "bin/headrace.js"}, "optionalDependencies": optional, "engines": map[string]string{"node": ">=18"},
	}, "", "  ")
	if err != nil {
		return err
	}
	return tarball(filepath.Join(dir, "headrace-"+bare(version)+".tgz"), at, []file{
		{name: "package/package.json", data: append(description, '\n')},
		{name: "package/bin/headrace.js", data: []byte(launcher), exec: true},
		{name: "package/README.md", data: about.readme},
		{name: "package/LICENSE", data: about.license},
	})
}

// bare is a version as other package managers write it.
func bare(version string) string { return strings.TrimPrefix(version, "v") }
