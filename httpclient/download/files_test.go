package download

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/retry"
)

// In a shared folder another user may have linked the name of the part, or of its state, to a file of the caller's.
func TestAHardLinkIsNotWrittenThrough(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links are not counted")
	}
	for name, beside := range map[string]func(string) string{"part": partPath, "state": statePath} {
		folder := t.TempDir()
		precious, target := filepath.Join(folder, "precious"), filepath.Join(folder, "f")
		require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
		require.NoError(t, os.Link(precious, beside(target)))
		_, err := fetchWith(t.Context(), &honest{body: content(1, 9), tag: tagOf(1)}, "http://h/", target, quick(1))
		assert.Equal(t, stepOpen, stepOf(err), name)
		assert.ErrorContains(t, err, "remove it", name)
		got, err := os.ReadFile(precious)
		require.NoError(t, err)
		assert.Equal(t, "precious", string(got), name)

		require.NoError(t, os.Remove(beside(target)))
		_, err = fetchWith(t.Context(), &honest{body: content(1, 9), tag: tagOf(1)}, "http://h/", target, quick(1))
		assert.NoError(t, err, name)
	}
}

func TestAPartThatIsNoFile(t *testing.T) {
	target := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.Mkdir(partPath(target), 0o700))
	_, err := fetchWith(t.Context(), &honest{body: content(1, 9), tag: tagOf(1)}, "http://h/", target, quick(1))
	assert.Equal(t, stepOpen, stepOf(err))

	d := newMemDisk()
	d.put(".f.part", "")
	d.names[".f.part"].mode = fs.ModeNamedPipe | 0o600
	_, err = fetchWith(t.Context(), &honest{body: content(1, 9), tag: tagOf(1)}, "http://h/", "f", withDisk(d), quick(1))
	assert.ErrorContains(t, err, ".f.part is not a file")
}

// File systems allow names of 255 bytes, and those beside the target are longer than it.
func TestLongNames(t *testing.T) {
	body := content(1, 100)
	folder := t.TempDir()
	for _, n := range []int{longest, longest + 1, 255} {
		target := filepath.Join(folder, strings.Repeat("x", n))
		_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1), cuts: []int{50}}, "http://h/", target, quick(1))
		require.Equal(t, int64(50), errorOf(err).Kept)
		assert.Equal(t, n == longest, strings.Contains(partPath(target), filepath.Base(target)))
		r, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", target, quick(1))
		require.NoError(t, err)
		assert.Equal(t, int64(50), r.Resumed)
	}
	assert.NotEqual(t, partPath(strings.Repeat("x", 250)), partPath(strings.Repeat("x", 251)))
}

// zipped serves a file that it calls an encoded one.
type zipped struct{ honest }

func (z *zipped) Do(req *http.Request) (*http.Response, error) {
	resp, err := z.honest.Do(req)
	if resp != nil && resp.StatusCode == http.StatusOK { // a 206 need not repeat it
		resp.Header.Set("Content-Encoding", "gzip")
	}
	return resp, err
}

func TestEncoded(t *testing.T) {
	body := content(1, 1000)
	d, r, err := fetchMem(t, &zipped{honest{body: body, tag: tagOf(1)}})
	assert.ErrorContains(t, err, "Config.Encoded")
	assert.Equal(t, stepAnswer, stepOf(err))
	assert.Equal(t, 1, r.Attempts)
	assert.Empty(t, d.list())

	server := &zipped{honest{body: body, tag: tagOf(1), cuts: []int{600, 0, 0}}}
	d, _, err = fetchMem(t, server, withEncoded(), quick(1))
	require.Equal(t, int64(600), errorOf(err).Kept)
	_, err = fetchWith(t.Context(), server, "http://h/f?sig=canary", "f", withDisk(d), quick(1))
	require.ErrorContains(t, err, "Config.Encoded", "a part stored compressed is not a start of the plain file")
	assert.Equal(t, []string{"", ""}, server.asked)
	server.cuts = nil
	r, err = fetchWith(t.Context(), server, "http://h/f?sig=canary", "f", withDisk(d), withEncoded())
	require.NoError(t, err)
	assert.Equal(t, int64(600), r.Resumed)
	assert.Equal(t, string(body), d.read())
}

// The limit of 10 minutes is one for servers. A policy may wait longer.
func TestALongDelayIsNoLongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &honest{body: content(1, 100), tag: tagOf(1), cuts: []int{0}}
		begun := time.Now()
		_, _, err := fetchMem(t, server, withRetry(retry.Policy{MaxAttempts: 2, Initial: time.Hour, Max: time.Hour, Jitter: 1e-9}))
		require.NoError(t, err)
		assert.Equal(t, time.Hour, time.Since(begun).Round(time.Minute))
	})
}

func TestTheDefaultIsEightAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		down := doer(func(*http.Request) (*http.Response, error) { n++; return nil, errBroken })
		_, err := fetchWith(t.Context(), down, "http://h/", "f", withDisk(newMemDisk()))
		require.Error(t, err)
		assert.Equal(t, 8, n)
	})
}

// What cannot be better the next time is not tried again.
func TestWhatIsWorthAnotherAttempt(t *testing.T) {
	for code, want := range map[httpclient.Code]bool{
		httpclient.CodeBodyLimit: false, httpclient.CodeUnsent: false, httpclient.CodeRedirect: false, httpclient.CodeCanceled: false,
		httpclient.CodeRead: true, httpclient.CodeConnect: true, httpclient.CodeDNS: true, httpclient.CodeUnknown: true,
	} {
		assert.Equal(t, want, worthAnother(&httpclient.Error{Code: code}), code)
	}
	assert.True(t, worthAnother(errBroken))
	for status, want := range map[int]bool{
		400: false, 404: false, 408: true, 425: true, 429: true, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false,
	} {
		assert.Equal(t, want, isPassing(status), status)
	}
}

// The ids are bounded, and the last ones stay.
func TestRequestIDsAreBounded(t *testing.T) {
	var ids requestIDs
	for i := range maxIDs + 2 {
		ids.Observe(requestEvent(i))
	}
	all := ids.all()
	assert.Len(t, all, maxIDs)
	assert.Equal(t, "2", all[0])
	assert.Equal(t, "101", all[maxIDs-1])
}

// An ordinary fault keeps its type and words, whatever the query has; a secret goes out of its text.
func TestHush(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://files.example.com/?host=files.example.com&sig=canary", http.NoBody)
	require.NoError(t, err)
	s := &session{req: req}
	plain := &os.SyscallError{Syscall: "dial files.example.com", Err: errBroken}
	assert.Equal(t, error(plain), s.hush(plain))
	told := s.hush(errors.Join(errors.New("no canary here"), errBroken))
	assert.EqualError(t, told, "no REDACTED here\nthe connection broke")
	assert.ErrorIs(t, told, errBroken)

	signed := errors.New(`failed to parse Location header "http://h/?other=secret": no`)
	told = s.hush(&url.Error{Op: "Get", URL: "http://h/?other=secret", Err: errors.Join(signed, errBroken)})
	assert.EqualError(t, told, "the Location of the redirect is not a URL")
	assert.ErrorIs(t, told, errBroken)
	assert.Equal(t, errBroken, s.hush(&url.Error{Op: "Get", URL: "http://h/?other=secret", Err: errBroken}), "its URL goes")
}
