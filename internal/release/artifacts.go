package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// shipment is what a release consists of beside the tags.
type shipment struct {
	tree    string // with its versions set
	dir     string // where the files go
	version string
	at      time.Time // of the commit, so that equal commits give equal files
	targets []target
	builder *builder
	tools   *tools
	said    io.Writer
}

// texts are the files beside the binary in an archive.
type texts struct {
	license, readme, manual []byte
	bash, zsh, fish         []byte
	notices                 []byte // the licences of others, which differ between targets
}

// licenses are the two files of them in a folder.
func (t *texts) licenses(folder string) []file {
	return []file{{name: folder + "LICENSE", data: t.license}, {name: folder + "THIRD-PARTY-LICENSES.txt", data: t.notices}}
}

// write builds the command for each target, and writes all archives and packages, and SHA256SUMS.
func (s *shipment) write(ctx context.Context) error {
	own, err := s.builder.build(ctx, host())
	if err != nil {
		return err
	}
	about, err := s.texts(ctx, own)
	if err != nil {
		return err
	}
	for _, t := range s.targets {
		fmt.Fprintln(s.said, "building for", t)
		if err := s.ship(ctx, t, about); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := npmMain(filepath.Join(s.dir, "npm"), s.version, s.at, s.targets, about); err != nil {
		return err
	}
	return checksumsOf(s.dir)
}

// texts come from the tree and, as far as the command knows them itself, from the command.
func (s *shipment) texts(ctx context.Context, command string) (t texts, err error) {
	for name, to := range map[string]*[]byte{"LICENSE": &t.license, "README.md": &t.readme} {
		if *to, err = os.ReadFile(filepath.Join(s.tree, name)); err != nil { //nolint:gosec // the prepared tree
			return t, err
		}
	}
	for _, of := range []struct {
		args []string
		to   *[]byte
	}{{[]string{"man"}, &t.manual}, {[]string{"completion", "bash"}, &t.bash}, {[]string{"completion", "zsh"}, &t.zsh}, {[]string{"completion", "fish"}, &t.fish}} {
		if *of.to, err = exec.CommandContext(ctx, command, of.args...).Output(); err != nil { //nolint:gosec // just built
			return t, err
		}
	}
	return t, nil
}

// ship writes everything for one target.
func (s *shipment) ship(ctx context.Context, t target, about texts) error {
	path, err := s.builder.build(ctx, t)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(path) //nolint:gosec // just built
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if about.notices, err = notices(info, s.builder.modules(), goEnv("GOROOT")); err != nil {
		return err
	}
	name := fmt.Sprintf("headrace_%s_%s_%s", bare(s.version), t.OS, t.Arch)
	if err := s.archive(name, t, binary, about); err != nil {
		return err
	}
	if err := s.tools.sbom(ctx, filepath.Join(s.dir, name+".sbom.json"), s.version, path); err != nil {
		return err
	}
	if t.OS == "linux" {
		if err := s.debian(ctx, t, binary, about); err != nil {
			return err
		}
	}
	if err := npmTarget(filepath.Join(s.dir, "npm"), s.version, s.at, t, binary, about); err != nil {
		return err
	}
	return wheel(filepath.Join(s.dir, "pypi"), s.version, s.at, t, binary, about)
}

func (s *shipment) archive(name string, t target, binary []byte, about texts) error {
	files := append(about.licenses(""), []file{
		{name: t.exe(), data: binary, exec: true},
		{name: "README.md", data: about.readme},
		{name: "headrace.1", data: about.manual},
		{name: "completions/headrace.bash", data: about.bash},
		{name: "completions/_headrace", data: about.zsh},
		{name: "completions/headrace.fish", data: about.fish},
	}...)
	for i := range files {
		files[i].name = name + "/" + files[i].name
	}
	if t.OS == "windows" {
		return zipped(filepath.Join(s.dir, name+".zip"), s.at, files)
	}
	return tarball(filepath.Join(s.dir, name+".tar.gz"), s.at, files)
}

// checksumsOf writes SHA256SUMS, which sha256sum -c reads.
func checksumsOf(dir string) error {
	var names []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "SHA256SUMS" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	var list bytes.Buffer
	for _, name := range names {
		data, err := os.ReadFile(name) //nolint:gosec // just written
		if err != nil {
			return err
		}
		short, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(short))
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), list.Bytes(), 0o666) //nolint:gosec // readable by all users
}
