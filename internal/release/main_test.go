package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var then = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

// tree is a repository with two modules: b requires a, and a third module of another origin.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "be kind\n",
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./b\n)\n\nreplace example.com/a v0.0.0 => ./\n",
		"go.mod":  "module example.com/a\n\ngo 1.26.0\n", "a.go": "package a\n",
		"b/go.mod": "module example.com/a/b\n\ngo 1.26.0\n\nrequire (\n\texample.com/a v0.0.0\n\texample.com/other v1.0.0 // indirect\n)\n",
		"b/go.sum": "example.com/a v0.0.9 h1:old=\nexample.com/other v1.0.0 h1:kept=\nexample.com/zeta v1.0.0 h1:kept=\n",
		"b/b.go":   "package b\n\nimport _ \"example.com/a\"\n",
	} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	in := func(args ...string) {
		_, err := git(t.Context(), dir, args...)
		require.NoError(t, err)
	}
	in("init", "--quiet", "--initial-branch=main")
	in("config", "user.name", "A Tester")
	in("config", "user.email", "tester@example.com")
	in("config", "commit.gpgsign", "false")
	in("config", "tag.gpgsign", "false")
	in("add", "--all")
	in("commit", "--quiet", "--message", "first")
	return dir
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(text)
}

func TestPrepare(t *testing.T) {
	dir, folder := tree(t), t.TempDir()
	all, _, err := prepare(t.Context(), dir, folder, "v0.1.0")
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []string{"v0.1.0", "b/v0.1.0"}, []string{all[0].tag("v0.1.0"), all[1].tag("v0.1.0")})
	assert.Contains(t, read(t, dir, "b", "go.mod"), "example.com/a v0.1.0\n")
	assert.Contains(t, read(t, dir, "b", "go.mod"), "example.com/other v1.0.0 // indirect\n")
	assert.Contains(t, read(t, dir, "go.work"), "replace example.com/a v0.1.0 => ./")
	assert.NotContains(t, read(t, dir, "go.work"), "v0.0.0")
	sums := strings.Split(read(t, dir, "b", "go.sum"), "\n")
	require.Len(t, sums, 5)
	assert.Regexp(t, `^example.com/a v0.1.0 h1:.{43}=$`, sums[0])
	assert.Regexp(t, `^example.com/a v0.1.0/go.mod h1:.{43}=$`, sums[1])
	assert.Equal(t, []string{"example.com/other v1.0.0 h1:kept=", "example.com/zeta v1.0.0 h1:kept=", ""}, sums[2:])
	z, err := zip.OpenReader(filepath.Join(folder, "example.com", "a", "b", "@v", "v0.1.0.zip"))
	require.NoError(t, err)
	defer func() { _ = z.Close() }()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	const at = "example.com/a/b@v0.1.0/"
	assert.ElementsMatch(t, []string{at + "go.mod", at + "go.sum", at + "b.go", at + "LICENSE"}, names, "the licence of the root belongs to each module")

	_, _, err = prepare(t.Context(), dir, t.TempDir(), "v0.2.0")
	require.NoError(t, err, "a later version follows an earlier one")
	assert.Contains(t, read(t, dir, "go.work"), "replace example.com/a v0.2.0 => ./")
}

// The checksums are those that Go computes itself when it reads the modules from the tagged repository.
func TestChecksumsAreThoseOfTheRepository(t *testing.T) {
	dir, folder := tree(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b", "go.mod"), []byte("module example.com/a/b\n\ngo 1.26.0\n\nrequire example.com/a v0.0.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b", "go.sum"), nil, 0o600))
	_, err := git(t.Context(), dir, "commit", "--quiet", "--all", "--message", "without others")
	require.NoError(t, err)
	clone := filepath.Join(t.TempDir(), "clone")
	_, err = git(t.Context(), dir, "clone", "--quiet", dir, clone)
	require.NoError(t, err)
	all, _, err := prepare(t.Context(), clone, folder, "v0.1.0")
	require.NoError(t, err)
	require.NoError(t, tagAll(t.Context(), dir, clone, all, "v0.1.0"))

	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "gitconfig"), []byte("[url \""+fileURL(dir)+"\"]\n\tinsteadOf = https://example.com/a\n[safe]\n\tdirectory = *\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "example.com/a@v0.1.0", "example.com/a/b@v0.1.0")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GOPROXY=direct", "GOPRIVATE=example.com", "GONOSUMDB=example.com",
		"GOVCS=*:git", "GOPATH="+home, "GOMODCACHE="+filepath.Join(home, "mod"), "GIT_CONFIG_GLOBAL="+filepath.Join(home, "gitconfig"))
	out, err := cmd.Output()
	if err != nil && strings.Contains(string(out), "example.com/a") && strings.Contains(string(out), "unrecognized import path") {
		t.Skip("Go does not find the repository without the network: ", string(out))
	}
	require.NoError(t, err, string(out))
	for line := range strings.Lines(read(t, clone, "b", "go.sum")) {
		_, sum, _ := strings.Cut(strings.TrimSpace(line), " h1:")
		assert.Contains(t, string(out), "h1:"+sum, line)
	}
}

func TestTagAll(t *testing.T) {
	dir := tree(t)
	clone := filepath.Join(t.TempDir(), "clone")
	_, err := git(t.Context(), dir, "clone", "--quiet", dir, clone)
	require.NoError(t, err)
	all, _, err := prepare(t.Context(), clone, t.TempDir(), "v0.1.0")
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package a\n"), 0o600))
	require.ErrorContains(t, tagAll(t.Context(), dir, clone, all, "v0.1.0"), "a tree without changes")
	require.NoError(t, os.Remove(filepath.Join(dir, "new.go")))
	require.NoError(t, tagAll(t.Context(), dir, clone, all, "v0.1.0"))
	tags, err := git(t.Context(), dir, "tag", "--list")
	require.NoError(t, err)
	assert.Equal(t, "b/v0.1.0\nv0.1.0", tags)
	committed, err := git(t.Context(), dir, "show", "v0.1.0:b/go.mod")
	require.NoError(t, err)
	assert.Contains(t, committed, "example.com/a v0.1.0")
	assert.NoFileExists(t, filepath.Join(dir, "b", "LICENSE"))
	require.ErrorContains(t, tagAll(t.Context(), dir, clone, all, "v0.1.0"), "a version that was published never changes")
}

func TestModulesThatRequireEachOther(t *testing.T) {
	_, err := ordered(map[string]*sibling{"a": {Path: "a", Requires: []string{"b"}}, "b": {Path: "b", Requires: []string{"a"}}})
	require.ErrorContains(t, err, "a requires itself through other modules")
}

func TestOptions(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v0.1", "v1", "v0.1.0+meta", "latest"} {
		require.ErrorContains(t, release(t.Context(), &options{version: version, targets: "linux/amd64"}), "is not a version", version)
	}
	for _, list := range []string{"", "linux", "plan9/amd64", "linux/mips", "linux/amd64,"} {
		_, err := parseTargets(list)
		require.ErrorContains(t, err, "is not a system", list)
	}
	dir := t.TempDir()
	require.NoError(t, empty(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rest"), nil, 0o600))
	require.NoError(t, empty(dir), "what an earlier release left")
	assert.NoFileExists(t, filepath.Join(dir, "rest"))
	require.NoError(t, os.Remove(filepath.Join(dir, ".release")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600))
	require.ErrorContains(t, empty(dir), "not of a release")
	assert.FileExists(t, filepath.Join(dir, "thesis"))
}

func TestArchivesAreReproducible(t *testing.T) {
	files := []file{{name: "a", data: []byte("1"), exec: true}, {name: "b", data: []byte("2")}}
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		require.NoError(t, tarball(filepath.Join(dir, "x.tar.gz"), then, files))
		require.NoError(t, zipped(filepath.Join(dir, "x.zip"), then, files))
		require.NoError(t, checksumsOf(dir))
	}
	for _, name := range []string{"x.tar.gz", "x.zip", "SHA256SUMS"} {
		assert.Equal(t, read(t, one, name), read(t, two, name), name)
	}
	assert.Len(t, strings.Split(read(t, one, "SHA256SUMS"), "\n"), 3)
}

func about() texts {
	return texts{license: []byte("our terms\n"), notices: []byte("their terms\n"), readme: []byte("# read me\n")}
}

func TestWheel(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, wheel(dir, "v1.2.0-rc.1", then, target{"linux", "arm64"}, []byte("binary"), about()))
	z, err := zip.OpenReader(filepath.Join(dir, "headrace-1.2.0rc1-py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl"))
	require.NoError(t, err)
	defer func() { _ = z.Close() }()
	texts := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		texts[f.Name] = string(text)
		if strings.HasSuffix(f.Name, "/scripts/headrace") {
			assert.Equal(t, os.FileMode(0o755), f.Mode())
		}
	}
	const info = "headrace-1.2.0rc1.dist-info/"
	assert.Contains(t, texts[info+"WHEEL"], "Tag: py3-none-manylinux_2_17_aarch64\nTag: py3-none-musllinux_1_1_aarch64\n")
	assert.Equal(t, "our terms\n", texts[info+"licenses/LICENSE"])
	assert.Equal(t, "their terms\n", texts[info+"licenses/THIRD-PARTY-LICENSES.txt"])
	assert.Contains(t, texts[info+"METADATA"], "License-File: LICENSE\nLicense-File: THIRD-PARTY-LICENSES.txt\nDescription-Content-Type: text/markdown\n\n# read me\n")
	for name, text := range texts {
		if name == info+"RECORD" {
			continue
		}
		sum := sha256.Sum256([]byte(text))
		assert.Contains(t, texts[info+"RECORD"], fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text)))
	}
}

func TestPythonVersion(t *testing.T) {
	for version, python := range map[string]string{"v0.1.0": "0.1.0", "v1.0.0-rc.1": "1.0.0rc1", "v1.0.0-beta.2": "1.0.0b2", "v1.0.0-alpha.3": "1.0.0a3"} {
		assert.Equal(t, python, pythonVersion(version))
	}
}

// stand is a program in place of the binary: it shows its arguments and ends with a status.
const stand = "#!/bin/sh\necho \"args: $*\"\nexit 7\n"

func local(t *testing.T) target {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the stand-in for the binary is a shell script")
	}
	return target{runtime.GOOS, runtime.GOARCH}
}

func ran(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	exit := (*exec.ExitError)(nil)
	require.ErrorAs(t, err, &exit, string(out))
	assert.Equal(t, 7, exit.ExitCode())
	assert.Equal(t, "args: run x.jsonl\n", string(out))
}

func TestNPM(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	on, dir, to := local(t), t.TempDir(), t.TempDir()
	require.NoError(t, npmTarget(dir, "v0.1.0", then, on, []byte(stand), about()))
	require.NoError(t, npmMain(dir, "v0.1.0", then, []target{on}, about()))
	packages, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, packages, 2)
	args := append([]string{"install", "--offline", "--no-audit", "--no-fund", "--prefix", to, "--cache", t.TempDir()}, packages...)
	out, err := exec.CommandContext(t.Context(), npm, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	ran(t, filepath.Join(to, "node_modules", ".bin", "headrace"), "run", "x.jsonl")
	assert.Equal(t, "their terms\n", read(t, to, "node_modules", filepath.FromSlash(on.npmPackage()), "THIRD-PARTY-LICENSES.txt"))
	assert.Equal(t, "our terms\n", read(t, to, "node_modules", "headrace", "LICENSE"))

	require.NoError(t, os.RemoveAll(filepath.Join(to, "node_modules", "@headrace")))
	out, err = exec.CommandContext(t.Context(), filepath.Join(to, "node_modules", ".bin", "headrace"), "version").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), on.npmPackage()+" is not installed")
}

func TestPip(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	on, dir, to := local(t), t.TempDir(), t.TempDir()
	if out, err := exec.CommandContext(t.Context(), python, "-m", "venv", to).CombinedOutput(); err != nil {
		t.Skip("python3 makes no environments: ", string(out))
	}
	require.NoError(t, wheel(dir, "v0.1.0", then, on, []byte(stand), about()))
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), filepath.Join(to, "bin", "pip"), append([]string{"install", "--no-index", "--disable-pip-version-check"}, wheels...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	ran(t, filepath.Join(to, "bin", "headrace"), "run", "x.jsonl")
}
