package results_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/node"
)

// linesOf is what both files hold of one result.
func linesOf(t *testing.T, r *results.Result, format requests.Format) (out, errs string) {
	t.Helper()
	dir := t.TempDir()
	outPath, errsPath := filepath.Join(dir, "out"), filepath.Join(dir, "errs")
	files, err := results.OpenFiles(outPath, errsPath, format)
	require.NoError(t, err)
	_, err = files.Resume(t.Context(), "")
	require.NoError(t, err)
	require.NoError(t, files.Write(t.Context(), []results.Result{*r}))
	require.NoError(t, files.Close())
	return text(t, outPath), text(t, errsPath)
}

// Whatever a provider answers becomes one line of JSON that has the custom_id,
// is recognized as one of ours, and comes back from a journal as it was.
func FuzzLines(f *testing.F) {
	f.Fuzz(func(t *testing.T, id string, status int, body []byte, message, requestID string, failed bool) {
		if !utf8.ValidString(id) || len(id) > 512 {
			return // no request
		}
		text, isJSON := results.Compact(body)
		require.True(t, json.Valid([]byte(text)), "%q", text)
		require.NotContains(t, text, "\n")
		if isJSON {
			require.True(t, json.Valid(bytes.TrimPrefix(bytes.ToValidUTF8(body, []byte("\uFFFD")), []byte("\uFEFF"))))
		}
		again, _ := results.Compact([]byte(text))
		require.Equal(t, text, again)

		r := results.Result{In: requests.Request{ID: id, Line: 1}, State: node.Done, Out: results.Answer{Status: status, RequestID: requestID, Body: text}}
		if failed {
			failure := &results.RecordedError{RequestError: &results.RequestError{Code: "status_400", StatusCode: status, Message: message, RequestID: requestID, Text: text}}
			r.State, r.Err = node.Failed, failure
			back := results.FailureOf(&node.RecordedError{Text: failure.Error()})
			require.Equal(t, text, back.Text)
			require.Equal(t, status, back.StatusCode)
		} else {
			kept, err := json.Marshal(r.Out)
			require.NoError(t, err)
			var back results.Answer
			require.NoError(t, json.Unmarshal(kept, &back))
			require.Equal(t, text, back.Body)
		}
		for _, format := range []requests.Format{requests.OpenAI, requests.Anthropic} {
			out, errs := linesOf(t, &r, format)
			line := out + errs
			require.Equal(t, 1, strings.Count(line, "\n"), "%q", line)
			require.True(t, json.Valid([]byte(line)), "%q", line)
			var l struct {
				ID string `json:"custom_id"` //nolint:tagliatelle // as both providers spell it
			}
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			require.Equal(t, id, l.ID)
			path := filepath.Join(t.TempDir(), "out")
			for _, n := range []int{len(line), len(line) / 2, 1} { // a kill may cut it
				require.NoError(t, os.WriteFile(path, []byte(line[:n]), 0o600))
				require.False(t, results.Foreign(path), "%q", line[:n])
			}
		}
	})
}

// What an earlier run recorded of a failure may be any text.
func FuzzFailureOf(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		r := results.Result{In: requests.Request{ID: "a"}, State: node.Failed, Err: &node.RecordedError{Text: text}}
		require.NotNil(t, results.FailureOf(r.Err))
		for _, format := range []requests.Format{requests.OpenAI, requests.Anthropic} {
			out, errs := linesOf(t, &r, format)
			require.Empty(t, out)
			require.True(t, json.Valid([]byte(errs)), "%q", errs)
			require.Equal(t, 1, strings.Count(errs, "\n"), "%q", errs)
		}
	})
}

// A mark that was not written of both files is not continued, and neither file
// is changed.
func FuzzMark(f *testing.F) {
	f.Fuzz(func(t *testing.T, mark string, out, errs []byte) {
		dir := t.TempDir()
		outPath, errsPath := filepath.Join(dir, "out"), filepath.Join(dir, "errs")
		require.NoError(t, os.WriteFile(outPath, out, 0o600))
		require.NoError(t, os.WriteFile(errsPath, errs, 0o600))
		files, err := results.OpenFiles(outPath, errsPath, requests.OpenAI)
		require.NoError(t, err)
		resumed, err := files.Resume(t.Context(), mark)
		require.NoError(t, err)
		if !resumed {
			require.Equal(t, string(out), text(t, outPath))
			require.Equal(t, string(errs), text(t, errsPath))
		} else {
			require.True(t, strings.HasPrefix(string(out), text(t, outPath)))
			require.True(t, strings.HasPrefix(string(errs), text(t, errsPath)))
			now, err := files.Sync(t.Context())
			require.NoError(t, err)
			require.True(t, mark == "" || now == mark, "%q; want %q", now, mark)
		}
		require.NoError(t, files.Close())
	})
}
