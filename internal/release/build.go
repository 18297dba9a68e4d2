package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	repository = "github.com/headrace/headrace"
	command    = repository + "/cmd/headrace"
)

// target is a system that the command is built for.
type target struct {
	OS, Arch string // as GOOS and GOARCH name them
}

func (t target) String() string { return t.OS + "/" + t.Arch }

// exe is the name of the binary.
func (t target) exe() string {
	if t.OS == "windows" {
		return "headrace.exe"
	}
	return "headrace"
}

// builder installs the command as a user does: by its module path and version, from a proxy.
type builder struct {
	dir     string // has the module cache and the binaries
	proxy   string // folder of the proxy
	version string
}

// env is the environment of a Go that finds the modules of the release in the folder, and all others where it usually
// does. What the release has is not in the checksum database.
func (b *builder) env() []string {
	cached := goEnv("GOMODCACHE")
	return append(os.Environ(),
		"GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOBIN=", "GOFLAGS=-modcacherw",
		"GOPATH="+b.dir, "GOMODCACHE="+b.modules(),
		"GOPROXY="+strings.Join([]string{fileURL(b.proxy), fileURL(filepath.Join(cached, "cache", "download")), goEnv("GOPROXY")}, ","),
		"GONOSUMDB="+repository+","+repository+"/*",
	)
}

// modules is the module cache.
func (b *builder) modules() string { return filepath.Join(b.dir, "pkg", "mod") }

// build returns the file name of the command for a target.
func (b *builder) build(ctx context.Context, t target) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags=-s -w", command+"@"+b.version) //nolint:gosec // a version
	cmd.Env = append(b.env(), "GOOS="+t.OS, "GOARCH="+t.Arch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building for %s: %w", t, err)
	}
	bin := filepath.Join(b.dir, "bin")
	if t != host() { // then go install adds a folder
		bin = filepath.Join(bin, t.OS+"_"+t.Arch)
	}
	return filepath.Join(bin, t.exe()), nil
}

func host() target { return target{goEnv("GOHOSTOS"), goEnv("GOHOSTARCH")} }

func goEnv(name string) string {
	out, err := exec.Command("go", "env", name).Output() //nolint:gosec,noctx // a constant
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// fileURL is the address of a folder on this machine.
func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }
