package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// A file that is not there yet has one name too: what is written to it would be overwritten.
func TestFilesThatAreNotThereYetAreToldApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("r.jsonl"), []byte("{}\n"), 0o600))
	require.NoError(t, os.Mkdir(at("d"), 0o700))
	require.NoError(t, os.Symlink("d", at("link")))
	require.NoError(t, os.Symlink("../link/o.jsonl", at("d/second")))
	for _, tc := range []struct {
		want string
		set  func(f *settings.Flags)
	}{
		{"--report: " + at("link/o.jsonl") + " is also used for --out", func(f *settings.Flags) { f.Out, f.Report = at("d/o.jsonl"), at("link/o.jsonl") }},
		{"--report: " + at("d/second") + " is also used for --out", func(f *settings.Flags) { f.Out, f.Report = at("d/o.jsonl"), at("d/second") }},
		{"--report: " + at("link/j") + " is also used for --journal", func(f *settings.Flags) { f.Journal, f.Report = at("d/j"), at("link/j") }},
		{"--errors: " + at("link/o.jsonl") + " is also used for --out", func(f *settings.Flags) { f.Out, f.Errors = at("d/second"), at("link/o.jsonl") }},
	} {
		f := usual()
		f.Requests = at("r.jsonl")
		tc.set(&f)
		_, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
		require.ErrorContains(t, err, tc.want)
	}
}

func TestALinkToItselfLeadsNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	f := usual()
	f.Report = filepath.Join(dir, "loop")
	_, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
	require.NoError(t, err)
}

// What the report, the results or the failures would overwrite.
func TestTheConfigAndStandardStreamsAreFilesToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("rpm: 5\n"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	for _, tc := range []struct {
		want string
		set  func(f *settings.Flags)
	}{
		{"--report: " + path + " is also used for --config", func(f *settings.Flags) { f.ConfigFile, f.Report = path, path }},
		{"--out: " + path + " is also used for REQUESTS", func(f *settings.Flags) { f.Requests, f.Stdin, f.Out = "-", info, path }},
		{"--out: - is also used for REQUESTS", func(f *settings.Flags) { f.Requests, f.Stdout, f.Out = path, info, "-" }},
		{"--errors: " + path + " is also used for --out", func(f *settings.Flags) { f.Stdout, f.Out, f.Errors = info, "-", path }},
	} {
		f := usual()
		tc.set(&f)
		_, err := settings.Resolve(f, env("OPENAI_API_KEY", "k"))
		require.ErrorContains(t, err, tc.want)
	}
}
