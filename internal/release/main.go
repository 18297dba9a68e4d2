// Release prepares a version of all modules: see RELEASING.md. Without -tag it changes nothing outside its folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/semver"
)

type options struct {
	version, into, targets string
	tag, modulesOnly       bool
	tools                  tools
}

func main() {
	var o options
	flag.StringVar(&o.version, "version", "", "the version, such as v0.1.0")
	flag.StringVar(&o.into, "into", "dist", "the folder to write to; what it holds is replaced")
	flag.StringVar(&o.targets, "targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "the systems to build for")
	flag.BoolVar(&o.modulesOnly, "modules", false, "write the module proxy and no archives")
	flag.BoolVar(&o.tag, "tag", false, "commit the versions in this repository, and tag every module; pushes nothing")
	flag.StringVar(&o.tools.nfpm, "nfpm", "nfpm", "the program nfpm")
	flag.StringVar(&o.tools.cyclonedx, "cyclonedx", "cyclonedx-gomod", "the program cyclonedx-gomod")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := release(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do
	}
}

func release(ctx context.Context, o *options) error {
	if !semver.IsValid(o.version) || semver.Canonical(o.version) != o.version || semver.Build(o.version) != "" {
		return fmt.Errorf("-version %q is not a version such as v0.1.0 or v0.2.0-rc.1", o.version)
	}
	targets, err := parseTargets(o.targets)
	if err != nil {
		return err
	}
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	into, err := filepath.Abs(o.into)
	if err != nil {
		return err
	}
	if err := empty(into); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "headrace-release") // no Go files below into, which may be in the repository
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	tree := filepath.Join(scratch, "tree")
	if _, err := git(ctx, root, "clone", "--quiet", "--no-hardlinks", root, tree); err != nil {
		return err
	}
	all, at, err := prepare(ctx, tree, filepath.Join(into, "proxy"), o.version)
	if err != nil {
		return err
	}
	fmt.Printf("%d modules in version %s: %s\n", len(all), o.version, fileURL(filepath.Join(into, "proxy")))
	if !o.modulesOnly {
		s := shipment{
			tree: tree, dir: filepath.Join(into, "files"), version: o.version, at: at, targets: targets, tools: &o.tools, said: os.Stdout,
			builder: &builder{dir: filepath.Join(scratch, "go"), proxy: filepath.Join(into, "proxy"), version: o.version},
		}
		if err := s.write(ctx); err != nil {
			return err
		}
		fmt.Println("archives, packages and SHA256SUMS:", s.dir)
	}
	if !o.tag {
		fmt.Println("this was a dry run: nothing was committed or tagged (RELEASING.md)")
		return nil
	}
	return tagAll(ctx, root, tree, all, o.version)
}

// prepare sets the version of all modules in a tree, and publishes them in a folder.
func prepare(ctx context.Context, tree, folder, version string) ([]*sibling, time.Time, error) {
	seconds, err := git(ctx, tree, "log", "-1", "--format=%ct")
	if err != nil {
		return nil, time.Time{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, time.Time{}, err
	}
	at := time.Unix(unix, 0).UTC()
	all, err := siblings(tree)
	if err != nil {
		return nil, at, err
	}
	if err := setVersion(tree, all, version); err != nil {
		return nil, at, err
	}
	return all, at, (&proxy{dir: folder}).publish(tree, all, version, at)
}

// tagAll commits the versions that a prepared tree has and tags all modules. The tree must have no changes, and the version no tag.
func tagAll(ctx context.Context, root, tree string, all []*sibling, version string) error {
	if changed, err := git(ctx, root, "status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, errors.New("-tag needs a tree without changes: commit them or put them aside"))
	}
	for _, s := range all {
		if had, err := git(ctx, root, "tag", "--list", s.tag(version)); err != nil || had != "" {
			return errors.Join(err, fmt.Errorf("the tag %s exists: a version that was published never changes", s.tag(version)))
		}
	}
	if err := copyVersions(root, tree, all); err != nil {
		return err
	}
	if _, err := git(ctx, root, "commit", "--all", "--message", "Release "+version); err != nil {
		return err
	}
	push := []string{"git push --atomic origin HEAD"}
	for _, s := range all {
		if _, err := git(ctx, root, "tag", "--annotate", s.tag(version), "--message", s.tag(version)); err != nil {
			return err
		}
		push = append(push, s.tag(version))
	}
	fmt.Println("committed and tagged; nothing is published before:\n ", strings.Join(push, " "))
	return nil
}

// copyVersions copies the files of a prepared tree that name versions.
func copyVersions(to, from string, all []*sibling) error {
	names := []string{"go.work"}
	for _, s := range all {
		names = append(names, filepath.Join(s.Dir, "go.mod"), filepath.Join(s.Dir, "go.sum"))
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name)) //nolint:gosec // prepared by this program
		if errors.Is(err, os.ErrNotExist) {
			continue // a module that requires nothing
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o666); err != nil { //nolint:gosec // as git has it
			return err
		}
	}
	return nil
}

func parseTargets(list string) (all []target, err error) {
	for name := range strings.SplitSeq(list, ",") {
		t := target{}
		var ok bool
		if t.OS, t.Arch, ok = strings.Cut(name, "/"); !ok || strings.HasSuffix(t.wheelTag(), "_") {
			return nil, fmt.Errorf("-targets: %q is not a system such as linux/amd64", name)
		}
		all = append(all, t)
	}
	return all, nil
}

// empty makes an empty folder. It removes one that an earlier run has left, and refuses any other.
func empty(dir string) error {
	const mark = ".release"
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, mark)); err != nil {
			return fmt.Errorf("-into %s: it holds files that are not of a release", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return create(filepath.Join(dir, mark), func(io.Writer) error { return nil })
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // arguments of ours
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
