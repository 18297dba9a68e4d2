// Package nodemodules installs packages of npm for tests.
package nodemodules

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Install installs what the package-lock.json of a folder names, once for all tests, and returns where. Without
// Node.js, npm or a registry the test is skipped.
func Install(tb testing.TB, folder string) string {
	tb.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			tb.Skipf("this needs %s, which is not installed", program)
		}
	}
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json")) //nolint:gosec // the folder is the test's
	must(tb, err)
	sum := sha256.Sum256(lock)
	cache, err := os.UserCacheDir()
	must(tb, err)
	cache = filepath.Join(cache, "headrace-tests")
	done := filepath.Join(cache, "node-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(done); err == nil { //nolint:gosec // a path of our own
		return filepath.Join(done, "node_modules")
	}
	must(tb, os.MkdirAll(cache, 0o700))
	dir, err := os.MkdirTemp(cache, "install-") //nolint:usetesting // it is renamed, which works within one file system
	must(tb, err)
	defer func() { _ = os.RemoveAll(dir) }()
	must(tb, os.CopyFS(dir, os.DirFS(folder)))
	npm := exec.CommandContext(tb.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if said, err := npm.CombinedOutput(); err != nil {
		tb.Skipf("npm cannot install the packages: %v\n%s", err, said)
	}
	if err := os.Rename(dir, done); err != nil { //nolint:gosec // a path of our own
		_, err = os.Stat(done) //nolint:gosec // another process was faster
		must(tb, err)
	}
	return filepath.Join(done, "node_modules")
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
