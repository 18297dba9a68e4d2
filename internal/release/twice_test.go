package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	nfpm      = flag.String("nfpm", "", "the program nfpm: with it and -cyclonedx the release is built twice and compared (minutes)")
	cyclonedx = flag.String("cyclonedx", "", "the program cyclonedx-gomod")
)

// Two releases of a commit, in two folders and with two build caches, have equal files.
func TestReleaseIsReproducible(t *testing.T) {
	if *nfpm == "" || *cyclonedx == "" {
		t.Skip("-nfpm and -cyclonedx run it")
	}
	on := local(t)
	var sums [2]string
	var dir string
	for i := range sums {
		dir = t.TempDir()
		require.NoError(t, release(t.Context(), &options{
			version: "v0.1.0", into: dir, targets: on.String(), tools: tools{nfpm: *nfpm, cyclonedx: *cyclonedx},
		}))
		sums[i] = read(t, dir, "files", "SHA256SUMS")
		t.Setenv("GOCACHE", t.TempDir())
	}
	assert.Equal(t, sums[0], sums[1])
	t.Log(sums[0])
	if on.OS == "linux" {
		debianPackage(t, filepath.Join(dir, "files", "headrace_0.1.0_"+on.Arch+".deb"))
	}
}

// debianPackage checks what other programs of Debian make of the package.
func debianPackage(t *testing.T, deb string) {
	t.Helper()
	has := func(t *testing.T, names ...string) {
		t.Helper()
		for _, name := range names {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(err)
			}
		}
	}
	t.Run("lintian", func(t *testing.T) {
		has(t, "lintian")
		out, err := exec.CommandContext(t.Context(), "lintian", "--allow-root", "--fail-on", "error,warning", deb).CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Empty(t, string(out))
	})
	t.Run("bash completion", func(t *testing.T) {
		const loader = "/usr/share/bash-completion/bash_completion"
		if has(t, "dpkg-deb", "bash"); !exists(loader) {
			t.Skip("bash-completion is not installed")
		}
		root := t.TempDir()
		out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-x", deb, root).CombinedOutput()
		require.NoError(t, err, string(out))
		cmd := exec.CommandContext(t.Context(), "bash", "--norc", "-c", `. `+loader+`
_completion_loader headrace
COMP_WORDS=(headrace ex) COMP_CWORD=1
_headrace headrace
echo "${COMPREPLY[@]}"`)
		cmd.Env = append(os.Environ(), "XDG_DATA_DIRS="+filepath.Join(root, "usr", "share"), "PATH="+filepath.Join(root, "usr", "bin")+":"+os.Getenv("PATH"))
		out, err = cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, "exec\n", string(out))
	})
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
