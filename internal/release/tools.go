package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// tools are programs of others, which the Makefile installs.
type tools struct {
	nfpm      string // writes packages for Linux: https://nfpm.goreleaser.com
	cyclonedx string // lists what a binary was built of: https://github.com/CycloneDX/cyclonedx-gomod
}

// deb writes a package for Debian and what is made of it. The extra files are installed where their names say.
func (t *tools) deb(ctx context.Context, dir, version string, made time.Time, on target, files []file) error {
	temp, err := os.MkdirTemp("", "headrace-deb")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	type info struct {
		Mode  uint32    `json:"mode"`
		MTime time.Time `json:"mtime"`
	}
	type content struct {
		Src  string `json:"src"`
		Dst  string `json:"dst"`
		Info info   `json:"file_info"`
	}
	var contents []content
	for i := range files {
		f := &files[i]
		at := filepath.Join(temp, f.name)
		if err := create(at, func(w io.Writer) error { _, err := w.Write(f.data); return err }); err != nil {
			return err
		}
		contents = append(contents, content{at, "/" + f.name, info{uint32(f.mode()), made}})
	}
	config, err := json.Marshal(map[string]any{ // which is YAML, too
		"name": "headrace", "arch": on.Arch, "platform": on.OS, "version": version, "section": "net", "priority": "optional",
		"maintainer": maintainer, "homepage": homepage, "license": license,
		"description": summary + "\n" + details, "contents": contents, "mtime": made,
	})
	if err != nil {
		return err
	}
	at := filepath.Join(temp, "nfpm.yaml")
	if err := os.WriteFile(at, config, 0o600); err != nil {
		return err
	}
	return run(ctx, t.nfpm, "package", "--packager", "deb", "--config", at, "--target", dir)
}

// sbom writes what a binary was built of, in the format of CycloneDX. Equal binaries give equal bytes.
func (t *tools) sbom(ctx context.Context, name, version, binary string) error {
	return run(ctx, t.cyclonedx, "bin", "-json", "-std=false", "-noserial", "-notimestamp", "-version", version, "-output", name, binary)
}

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // tools of the Makefile
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}
