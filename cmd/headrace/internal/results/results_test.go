package results_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
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
			f, err := results.OpenFiles(out, errs, requests.OpenAI)
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
				f, err := results.OpenFiles(out, errs, requests.OpenAI)
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
	f, err := results.OpenFiles(out, errs, requests.OpenAI)
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
		l, err := results.OpenLines(filepath.Join(dir, name), filepath.Join(dir, name+"e"), nil, requests.OpenAI, atOnce)
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
		f, err := results.OpenFiles(out, errs, requests.OpenAI)
		require.NoError(t, err)
		_, err = f.Resume(t.Context(), "")
		require.NoError(t, err)
		require.NoError(t, os.Rename(filepath.Join(dir, gone), filepath.Join(dir, "moved")))
		require.NoError(t, f.Write(t.Context(), []results.Result{result(0, false), result(1, true)}))
		_, err = f.Sync(t.Context())
		require.ErrorContains(t, err, gone+" was deleted, moved or replaced while it was being written")
		require.NoError(t, f.Close(), "it is told once")

		l, err := results.OpenLines(out, errs, nil, requests.OpenAI, atOnce)
		require.NoError(t, err)
		require.NoError(t, l.Begin())
		require.NoError(t, os.Rename(filepath.Join(dir, gone), filepath.Join(dir, "moved")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, gone), nil, 0o600))
		require.ErrorContains(t, l.Close(), gone+" was deleted, moved or replaced while it was being written")
	}
}

// A run that continued to write would lose lines, and fill the gap with zeros.
func TestAFileThatIsTruncatedByAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"out", "errs"} {
		dir := t.TempDir()
		out, errs := filepath.Join(dir, "out"), filepath.Join(dir, "errs")
		l, err := results.OpenLines(out, errs, nil, requests.OpenAI, atOnce)
		require.NoError(t, err)
		require.NoError(t, l.Begin())
		first, failed := result(0, false), result(1, true)
		require.NoError(t, l.Write(&first))
		require.NoError(t, l.Write(&failed))
		require.NoError(t, os.Truncate(filepath.Join(dir, cut), 0))
		assert.ErrorContains(t, errors.Join(l.Write(&first), l.Write(&failed)), cut+" was truncated or extended by another program")
		require.NoError(t, l.Close(), "it is reported once")
		info, err := os.Stat(filepath.Join(dir, cut))
		if err == nil {
			assert.Zero(t, info.Size())
		}
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\n \"a\": \"<\" }": `{"a":"<"}`, "": `""`, "<html>": `"<html>"`, "\xff": `"` + "\uFFFD" + `"`, "1": "1", "{": `"{"`, "[\"\xff\"]": "[\"\uFFFD\"]",
		"\uFEFF{ }": "{}", `"ok"`: `"ok"`, "null": "null", "{} {}": `"{} {}"`,
	} {
		got, ok := results.Compact([]byte(in))
		assert.Equal(t, want, got)
		assert.Equal(t, want[0] == '{' || want[0] == '[', ok, in)
	}
}

// written is the line of one result, and of which file it is.
func written(t *testing.T, f requests.Format, r results.Result) (done, failed string) {
	t.Helper()
	out, errs := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "errs")
	l, err := results.OpenLines(out, errs, nil, f, atOnce)
	require.NoError(t, err)
	require.NoError(t, l.Begin())
	require.NoError(t, l.Write(&r))
	require.NoError(t, l.Close())
	for _, path := range []string{out, errs} {
		assert.False(t, results.Foreign(path))
	}
	return text(t, out), text(t, errs)
}

// failures are one of each kind.
var failures = []*results.RequestError{
	{Code: "status_400", Message: "too long", StatusCode: 400, RequestID: "req_1", Text: `{"error":{"message":"too long"}}`},
	{Code: "status_307", Message: "redirect (307) to https://h/b", StatusCode: 307, Location: "https://h/b", Text: `""`},
	{Code: results.NotJSON, Message: "the answer is not JSON", StatusCode: 200, RequestID: "req_2", Text: `"<html>"`},
	{Code: results.Network, Message: "EOF"},
	{Code: results.BadLine, Message: "custom_id is missing", Line: 7},
}

// Field by field as https://platform.openai.com/docs/api-reference/batch/request-output has it: an id, which the example there
// and the one of https://platform.openai.com/docs/guides/batch begin with batch_req_; custom_id; response with status_code, request_id and
// body; error with code and message, "for requests that failed with a non-HTTP error".
func TestALineOfOpenAIHasAResponseOrAnErrorButNotBoth(t *testing.T) {
	t.Parallel()
	done, failed := written(t, requests.OpenAI, results.Result{
		In: requests.Request{ID: "r"}, State: node.Done, Out: results.Answer{Status: 200, RequestID: "req_9", Body: `{"id":"c"}`},
	})
	assert.Empty(t, failed)
	const id = `{"id":"batch_req_a577a91623060e46aea38f79","custom_id":"r",`
	assert.Equal(t, id+`"response":{"status_code":200,"request_id":"req_9","body":{"id":"c"}},"error":null}`+"\n", done)
	for i, want := range []string{
		`"response":{"status_code":400,"request_id":"req_1","body":{"error":{"message":"too long"}}},"error":null}`,
		`"response":{"status_code":307,"request_id":"","location":"https://h/b","body":""},"error":null}`,
		`"response":null,"error":{"code":"not_json","message":"the answer is not JSON"}}`,
		`"response":null,"error":{"code":"network","message":"EOF"}}`,
		`"response":null,"error":{"code":"bad_line","message":"custom_id is missing","line":7}}`,
	} {
		done, failed := written(t, requests.OpenAI, results.Result{In: requests.Request{ID: "r"}, State: node.Failed, Err: failures[i]})
		assert.Empty(t, done)
		assert.Equal(t, id+want+"\n", failed)
	}
}

// Field by field as https://platform.claude.com/docs/en/api/messages/batches/results has it: custom_id; result of type succeeded with
// message, or of type errored with error, which is the body of an error of
// https://platform.claude.com/docs/en/api/errors: type, error with type and message, and request_id.
// The line of an answer is what encoding/json makes of the same values.
func TestALineOfAnAnswerIsThatOfTheEncoder(t *testing.T) {
	t.Parallel()
	type response struct {
		StatusCode int             `json:"status_code"`
		RequestID  string          `json:"request_id"`
		Body       json.RawMessage `json:"body"`
	}
	type line struct {
		ID       string   `json:"id"`
		CustomID string   `json:"custom_id"`
		Response response `json:"response"`
		Error    *string  `json:"error"`
	}
	errs := filepath.Join(t.TempDir(), "errs")
	texts := rapid.OneOf(rapid.StringMatching(`[ -~]{0,20}`), rapid.String(), rapid.SampledFrom([]string{"", `"`, `\`, "<&>", "\x7f", "\u2028", "é"}))
	rapid.Check(t, func(t *rapid.T) {
		body, ok := results.Compact([]byte(`{"a": [1, ` + strconv.Quote(rapid.StringMatching(`[ -!#-\[\]-~]{0,20}`).Draw(t, "body")) + "]}\n"))
		require.True(t, ok)
		r := results.Result{
			In: requests.Request{ID: texts.Draw(t, "custom_id")}, State: node.Done,
			Out: results.Answer{Status: rapid.IntRange(200, 299).Draw(t, "status"), RequestID: texts.Draw(t, "request_id"), Body: body},
		}
		var b bytes.Buffer
		l, err := results.OpenLines(results.Stdout, errs, &b, requests.OpenAI, atOnce)
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		require.NoError(t, l.Write(&r))
		var got line
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		want := line{got.ID, r.In.ID, response{r.Out.Status, r.Out.RequestID, json.RawMessage(body)}, nil}
		var again bytes.Buffer
		e := json.NewEncoder(&again)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(want))
		require.Equal(t, again.String(), b.String())
		require.Regexp(t, "^batch_req_[0-9a-f]{24}$", got.ID)
	})
}

func TestALineOfAnthropicIsAResultOfMessageBatches(t *testing.T) {
	t.Parallel()
	done, failed := written(t, requests.Anthropic, results.Result{
		In: requests.Request{ID: "r\"\\"}, State: node.Done, Out: results.Answer{Status: 200, RequestID: "req_9", Body: `{"id":"msg_1","type":"message"}`},
	})
	assert.Empty(t, failed)
	assert.Equal(t, `{"custom_id":"r\"\\","result":{"type":"succeeded","message":{"id":"msg_1","type":"message"}}}`+"\n", done)
	own := &results.RequestError{
		Code: "status_400", StatusCode: 400, RequestID: "req_h", Text: `{"type":"error","error":{"type":"invalid_request_error","message":"no","more":1}}`,
	}
	named := *own
	named.Text = `{"type":"error","error":{"type":"not_found_error","message":"no"},"request_id":"req_b"}`
	for i, want := range []string{
		`{"type":"error","error":{"type":"invalid_request_error","message":"too long"},"request_id":"req_1"}`,
		`{"type":"error","error":{"type":"api_error","message":"redirect (307) to https://h/b"},"request_id":null}`,
		`{"type":"error","error":{"type":"api_error","message":"the answer is not JSON"},"request_id":"req_2"}`,
		`{"type":"error","error":{"type":"api_error","message":"EOF"},"request_id":null}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"line 7: custom_id is missing"},"request_id":null}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"no","more":1},"request_id":"req_h"}`,
		`{"type":"error","error":{"type":"not_found_error","message":"no"},"request_id":"req_b"}`,
	} {
		all := append(slices.Clone(failures), own, &named)
		done, failed := written(t, requests.Anthropic, results.Result{In: requests.Request{ID: "r"}, State: node.Failed, Err: all[i]})
		assert.Empty(t, done)
		assert.Equal(t, `{"custom_id":"r","result":{"type":"errored","error":`+want+"}}\n", failed)
	}
	for status, want := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
	} {
		_, failed := written(t, requests.Anthropic, results.Result{
			In: requests.Request{ID: "r"}, State: node.Failed, Err: &results.RequestError{Code: "status", StatusCode: status, Text: `"<html>"`},
		})
		assert.Contains(t, failed, `"error":{"type":"`+want+`"`)
	}
}

// A gap of zeros is what a truncation by another program leaves.
func TestGap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	for content, want := range map[string]bool{
		"\x00\x00" + `{"id":"batch_req_1","custom_id":`: true, "\x00" + `{"custom_id":"a","result":{"type":`: true, "\x00\x00": true,
		"\x00\x00" + `"},"error":null}` + "\n" + `{"id":"batch_req_1"`: true, "\x00\x00mine\n": false, "\x00mine\nand mine\n": false, `{"id":"batch_req_1"`: false, "mine": false,
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		assert.Equal(t, want, results.Gap(path), "%q", content)
	}
}

// Requests begin like results of Anthropic's form, and are not overwritten for it.
func TestWhatIsNoFileOfResultsIsForeign(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for content, want := range map[string]bool{
		"": false, `{"id":"batch_req_1","custom_id":"a"`: false, `{"id":"ba`: false,
		`{"custom_id":"a\"","result":{"type":"succeeded","message":{}}}` + "\n": false, `{"custom_id":"a","resu`: false, `{"custom_id":"a`: false,
		`{"custom_id":"` + strings.Repeat(`\u0001`, 512) + `","result":{"type":"errored"`: false,
		`{"custom_id":"a","params":{}}`: true, `{"custom_id":"a","method":"POST"}`: true, `{"custom_id": "a", "result": {}}`: true,
		`{"custom_id":"a` + "\n": true, `{"id":"req_1"`: true, "mine\n": true, `{"custom_id":7,"result":{"type":"succeeded"}}`: true,
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		assert.Equal(t, want, results.Foreign(path), content)
	}
}

// atOnce opens a file and waits for nothing.
func atOnce(_ string, open func() (*os.File, error)) (*os.File, error) { return open() }
