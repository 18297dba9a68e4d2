package results_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/node"
)

func result(i int, failed bool) results.Result {
	r := results.Result{Index: int64(i), In: requests.Request{ID: fmt.Sprint("r", i)}, State: node.Done, Out: results.Answer{Status: 200, Body: `{"<":1}`}}
	if failed {
		r.State, r.Err = node.Failed, &results.RecordedError{RequestError: &results.RequestError{Code: "status_400", Message: "no", StatusCode: 400, Text: `{"e":"<"}`}}
	}
	return r
}

func text(t require.TestingT, path string) string {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	require.NoError(t, err)
	return string(b)
}

// Whatever is written behind a mark, cut off, or lost, going on at the mark gives what was there at the mark, or says
// that it cannot be had. The oracle is the text of both files at each mark.
func TestTheMarkHoldsBothFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "results") //nolint:usetesting // rapid's T has no folder
		require.NoError(t, err)
		defer func() { _ = os.RemoveAll(dir) }()
		out, errs := filepath.Join(dir, "out"), filepath.Join(dir, "errs")
		marks := map[string][2]string{"": {}}
		last, n := "", 0
		for range rapid.IntRange(1, 6).Draw(t, "lives") {
			f, err := results.OpenFiles(out, errs)
			require.NoError(t, err)
			ok, err := f.Resume(t.Context(), last)
			require.NoError(t, err)
			want := marks[last]
			if !ok {
				ok, err = f.Resume(t.Context(), "")
				require.NoError(t, err)
				require.True(t, ok)
				want = [2]string{}
			}
			require.Equal(t, want, [2]string{text(t, out), text(t, errs)})
			for range rapid.IntRange(0, 4).Draw(t, "groups") {
				var group []results.Result
				for range rapid.IntRange(0, 3).Draw(t, "results") {
					group = append(group, result(n, rapid.Bool().Draw(t, "failed")))
					n++
				}
				require.NoError(t, f.Write(t.Context(), group))
				last, err = f.Sync(t.Context())
				require.NoError(t, err)
				marks[last] = [2]string{text(t, out), text(t, errs)}
			}
			require.NoError(t, f.Write(t.Context(), []results.Result{result(n, false), result(n+1, true)})) // and no mark
			n += 2
			require.NoError(t, f.Close())
			for _, path := range []string{out, errs} {
				switch rapid.SampledFrom([]string{"keep", "cut", "remove", "spoil"}).Draw(t, "fate") {
				case "cut":
					s := text(t, path)
					require.NoError(t, os.WriteFile(path, []byte(s[:rapid.IntRange(0, len(s)).Draw(t, "at")]), 0o600))
				case "remove":
					_ = os.Remove(path)
				case "spoil":
					require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), len(text(t, path))), 0o600))
				}
			}
			if want := marks[last]; !strings.HasPrefix(text(t, out), want[0]) || !strings.HasPrefix(text(t, errs), want[1]) {
				f, err := results.OpenFiles(out, errs)
				require.NoError(t, err)
				ok, err := f.Resume(t.Context(), last)
				require.NoError(t, err)
				require.False(t, ok, "all of it is compared, and not the last line alone")
				require.NoError(t, f.Close())
			}
		}
	})
}

func TestAnewAndForeignMarks(t *testing.T) {
	t.Parallel()
	out, errs := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "errs")
	f, err := results.OpenFiles(out, errs)
	require.NoError(t, err)
	require.ErrorContains(t, f.Write(t.Context(), nil), "not open")
	_, err = f.Sync(t.Context())
	require.ErrorContains(t, err, "not open")
	for _, mark := range []string{"!", "+", "1-1-00000000", "x+y", "5-9-00000000+0-0-00000000"} {
		ok, err := f.Resume(t.Context(), mark)
		require.NoError(t, err)
		assert.False(t, ok, mark)
	}
	ok, err := f.Resume(t.Context(), "")
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, f.Write(t.Context(), []results.Result{result(0, false)}))
	mark, err := f.Sync(t.Context())
	require.NoError(t, err)
	f.Anew()
	ok, err = f.Resume(t.Context(), mark)
	require.NoError(t, err)
	assert.False(t, ok)
	ok, err = f.Resume(t.Context(), "")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Empty(t, text(t, out))
	require.NoError(t, f.Close())
	assert.NoFileExists(t, errs)
}

// A failure that comes back from a journal is written as it was.
func TestAFailureOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, r results.Result) string {
		l, err := results.OpenLines(filepath.Join(dir, name), filepath.Join(dir, name+"e"), nil)
		require.NoError(t, err)
		require.NoError(t, l.Begin())
		require.NoError(t, l.Write(&r))
		require.NoError(t, l.Close())
		return text(t, filepath.Join(dir, name+"e"))
	}
	now := result(1, true)
	then := now
	then.Err = &node.RecordedError{Text: now.Err.Error(), Attempts: 2}
	assert.Equal(t, write("a", now), write("b", then))
	assert.Contains(t, write("a", now), `"body":{"e":"<"}`)
	assert.NotContains(t, results.FailureOf(now.Err).Error(), "<", "a log gets no body")
	then.Err = &node.RecordedError{Text: "a panic"}
	assert.Contains(t, write("c", then), `"error":{"code":"internal","message":"a panic"}`)
	then.Err = errors.New("another")
	assert.Contains(t, write("d", then), `"message":"another"`)
}

// What is written into a file that was deleted is lost: a run may not end as if all were well.
func TestAFileThatIsGone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open stays where it is")
	}
	for _, gone := range []string{"out", "errs"} {
		dir := t.TempDir()
		out, errs := filepath.Join(dir, "out"), filepath.Join(dir, "errs")
		f, err := results.OpenFiles(out, errs)
		require.NoError(t, err)
		_, err = f.Resume(t.Context(), "")
		require.NoError(t, err)
		require.NoError(t, os.Rename(filepath.Join(dir, gone), filepath.Join(dir, "moved")))
		require.NoError(t, f.Write(t.Context(), []results.Result{result(0, false), result(1, true)}))
		_, err = f.Sync(t.Context())
		require.ErrorContains(t, err, gone+" was deleted, moved or replaced while it was being written")
		require.NoError(t, f.Close(), "it is told once")

		l, err := results.OpenLines(out, errs, nil)
		require.NoError(t, err)
		require.NoError(t, l.Begin())
		require.NoError(t, os.Rename(filepath.Join(dir, gone), filepath.Join(dir, "moved")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, gone), nil, 0o600))
		require.ErrorContains(t, l.Close(), gone+" was deleted, moved or replaced while it was being written")
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\n \"a\": \"<\" }": `{"a":"<"}`, "": `""`, "<html>": `"<html>"`, "\xff": `"` + "\uFFFD" + `"`, "1": "1", "{": `"{"`, "[\"\xff\"]": "[\"\uFFFD\"]",
	} {
		assert.Equal(t, want, results.Compact([]byte(in)))
	}
}
