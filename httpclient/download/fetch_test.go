package download

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/retry"
)

func fetchMem(t *testing.T, client Doer, opts ...option) (*memDisk, Result, error) {
	t.Helper()
	d := newMemDisk()
	r, err := fetchWith(t.Context(), client, "http://h/f?sig=canary", "f", append([]option{withDisk(d), quick(3)}, opts...)...)
	return d, r, err
}

func TestABrokenConnectionIsMadeUpFor(t *testing.T) {
	body := content(1, 1000)
	cuts := []int{100, 200, 1, 2, 300} // the third brings no progress: it is the overlap
	server := &honest{body: body, tag: tagOf(1), cuts: cuts}
	d, result, err := fetchMem(t, server, quick(2))
	require.NoError(t, err, "progress lets the policy begin anew")
	assert.Equal(t, string(body), d.read())
	assert.Equal(t, []string{"", "bytes=99-", "bytes=298-", "bytes=298-", "bytes=299-", "bytes=598-"}, server.asked)
	assert.Equal(t, Result{Bytes: 1000, Checksum: checksumOf(body), Attempts: 6}, result)
}

func TestAttemptsWithoutProgressAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		tag  string
		cuts []int
		want int
		kept int64
	}{
		"nothing comes":                      {`"a"`, []int{0, 0, 0, 0, 0}, 3, 0},
		"only the overlap comes":             {`"a"`, []int{10, 1, 1, 1, 1, 1}, 4, 10},
		"more each time, but from the start": {`W/"a"`, []int{10, 20, 30, 40, 50}, 3, 0},
	} {
		server := &honest{body: content(1, 1000), tag: tc.tag, cuts: tc.cuts}
		d, r, err := fetchMem(t, server)
		require.ErrorIs(t, err, errBroken, name)
		assert.Equal(t, tc.want, r.Attempts, name)
		assert.Equal(t, tc.want, len(server.asked), name)
		assert.Equal(t, stepRead, stepOf(err), name)
		assert.Equal(t, tc.kept, errorOf(err).Kept, name)
		assert.Equal(t, "(none)", d.read(), name)
	}
}

// One call leaves 600 of 1000 bytes; what does the next one do?
func TestResume(t *testing.T) {
	old, sum := content(1, 1000), withChecksum(checksumOf(content(1, 1000)))
	for name, tc := range map[string]struct {
		version, size int
		opts          []option
		url           string
		asked         []string
		resumed       int64
	}{
		"goes on":               {1, 1000, nil, "http://h/f", []string{"bytes=599-"}, 600},
		"checks all of it":      {1, 1000, []option{sum}, "http://h/f", []string{"bytes=599-"}, 600},
		"the server has other":  {2, 1000, nil, "http://h/f", []string{"bytes=599-"}, 0},
		"and it is shorter":     {2, 100, nil, "http://h/f", []string{"bytes=599-"}, 0},
		"one tag, two lengths":  {1, 700, nil, "http://h/f", []string{"bytes=599-", ""}, 0},
		"of another user":       {1, 1000, nil, "http://me@h/f#x", []string{"bytes=599-"}, 600},
		"another URL":           {1, 1000, nil, "http://h/f?b", []string{""}, 0},
		"another URL, one name": {1, 1000, []option{withIdentity("http://h/f")}, "http://h/f?b", []string{"bytes=599-"}, 600},
	} {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			_, err := fetchWith(t.Context(), &honest{body: old, tag: tagOf(1), cuts: []int{600}}, "http://h/f", "f", withDisk(d), quick(1))
			require.Equal(t, int64(600), errorOf(err).Kept)
			assert.ErrorContains(t, err, `download: "f": read: the connection broke (600 bytes are kept for a later call)`)
			assert.Equal(t, []string{".f.part", ".f.part.json"}, d.list())

			body := content(tc.version, tc.size)
			server := &honest{body: body, tag: tagOf(tc.version)}
			r, err := fetchWith(t.Context(), server, tc.url, "f", append(tc.opts, withDisk(d))...)
			require.NoError(t, err)
			assert.Equal(t, tc.asked, server.asked)
			assert.Equal(t, Result{Bytes: int64(tc.size), Resumed: tc.resumed, Checksum: checksumOf(body), Attempts: len(tc.asked)}, r)
			assert.Equal(t, string(body), d.read())
			assert.Equal(t, []string{"f"}, d.list())
		})
	}
}

// All bytes are there, but the process ended before it could rename.
func TestResumeOfAWholePart(t *testing.T) {
	d := newMemDisk()
	body := content(1, 1000)
	d.put(".f.part", string(body))
	d.put(".f.part.json", string(state{Resource: hashOf("http://h/"), Validator: `"v1"`, Kept: 1000, Total: 1000}.encode()))
	server := &honest{body: body, tag: tagOf(1)}
	r, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(d))
	require.NoError(t, err)
	assert.Equal(t, []string{"bytes=999-"}, server.asked)
	assert.Equal(t, 1, server.sent)
	assert.Equal(t, int64(1000), r.Resumed)
	assert.Equal(t, string(body), d.read())
}

// A server that has something else and then fails leaves nothing to go on from.
func TestWhatIsStaleIsNotKept(t *testing.T) {
	d := newMemDisk()
	body := content(1, 1000)
	_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1), cuts: []int{500}}, "http://h/", "f", withDisk(d), quick(1))
	require.Equal(t, int64(500), errorOf(err).Kept)
	n := 0
	_, err = fetchWith(t.Context(), doer(func(req *http.Request) (*http.Response, error) {
		if n++; n == 1 {
			return respond(req, 416, header(), 0, http.NoBody), nil
		}
		return nil, errBroken
	}), "http://h/", "f", withDisk(d), quick(1))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 2, n)
	assert.Zero(t, errorOf(err).Kept)
	assert.Empty(t, d.list())
}

// In chunks the body of a 206 may have any length.
func TestARangeThatIsTooLongIsNotTaken(t *testing.T) {
	body := content(1, 1000)
	server := &honest{body: body, tag: tagOf(1), cuts: []int{500}}
	n := 0
	d, r, err := fetchMem(t, doer(func(req *http.Request) (*http.Response, error) {
		resp, err := server.Do(req)
		if n++; n == 2 {
			resp.ContentLength = -1
			resp.Body = breaking(append(body[499:1000:1000], "more"...), 1000)
		}
		return resp, err
	}))
	require.NoError(t, err)
	assert.Equal(t, 3, r.Attempts)
	assert.Equal(t, string(body), d.read())
}

func TestTheOverlapHasToAgree(t *testing.T) {
	d := newMemDisk()
	body := content(1, 1000)
	d.put(".f.part", strings.Repeat("x", 500))
	d.put(".f.part.json", string(state{Resource: hashOf("http://h/"), Validator: `"v1"`, Kept: 500, Total: 1000}.encode()))
	server := &honest{body: body, tag: tagOf(1)}
	_, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(d))
	require.NoError(t, err)
	assert.Equal(t, []string{"bytes=499-", ""}, server.asked)
	assert.Equal(t, string(body), d.read())
}

func TestBytesThatNothingVouchesForAreNotUsed(t *testing.T) {
	d := newMemDisk()
	body := content(1, 1000)
	d.put(".f.part", string(body[:500])+strings.Repeat("rubbish", 100))
	d.put(".f.part.json", string(state{Resource: hashOf("http://h/"), Validator: `"v1"`, Kept: 500, Total: 1000}.encode()))
	_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", "f", withDisk(d))
	require.NoError(t, err)
	assert.Equal(t, string(body), d.read())
}

func TestRequestsAskForIdentityAndKeepTheirHeaders(t *testing.T) {
	var seen http.Header
	client := doer(func(req *http.Request) (*http.Response, error) {
		seen = req.Header
		return respond(req, 200, header(), 1, breaking([]byte("x"), 1)), nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer x")
	_, err = doWith(client, req, "f", withDisk(newMemDisk()))
	require.NoError(t, err)
	assert.Equal(t, header("Authorization", "Bearer x", "Accept-Encoding", "identity"), seen)
	assert.Equal(t, header("Authorization", "Bearer x"), req.Header, "the caller's request")
}

func TestChecksum(t *testing.T) {
	body := content(1, 100)
	want := checksumOf(content(2, 100))
	server := &honest{body: body, tag: tagOf(1), cuts: []int{50}}
	d, r, err := fetchMem(t, server, withChecksum(want))
	require.ErrorIs(t, err, ErrChecksum)
	assert.ErrorContains(t, err, "the checksum is wrong: "+checksumOf(body)+"; want "+want)
	assert.Equal(t, stepVerify, stepOf(err))
	assert.Equal(t, 2, r.Attempts, "it is not fetched again")
	assert.Empty(t, d.list())

	sha := md5.New()
	sha.Write(body)
	d, r, err = fetchMem(t, server, withChecksum(fmt.Sprintf("md5:%x", sha.Sum(nil))), func(c *Config) {
		c.Hashes = map[string]func() hash.Hash{"md5": md5.New}
	})
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("md5:%x", sha.Sum(nil)), r.Checksum)
	assert.Equal(t, string(body), d.read())
}

func TestMaxBytes(t *testing.T) {
	body := content(1, 100)
	unknown := doer(func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, header("ETag", `"a"`), -1, breaking(body, 100)), nil
	})
	for name, client := range map[string]Doer{"known": &honest{body: body, tag: tagOf(1)}, "not known": unknown} {
		d, r, err := fetchMem(t, client, withMaxBytes(99))
		assert.ErrorIs(t, err, ErrTooLarge, name)
		assert.Equal(t, 1, r.Attempts, name)
		assert.Empty(t, d.list(), name)
		_, _, err = fetchMem(t, client, withMaxBytes(100))
		assert.NoError(t, err, name)
	}
}

func TestAnswersThatAreNotTheFile(t *testing.T) {
	for status, want := range map[int]int{404: 1, 403: 1, 302: 1, 204: 1, 206: 1, 501: 1, 500: 3, 503: 3, 429: 3, 408: 3} {
		_, r, err := fetchMem(t, doer(func(req *http.Request) (*http.Response, error) {
			return respond(req, status, header("Content-Range", "bytes 0-0/1"), 1, breaking([]byte("x"), 1)), nil
		}))
		require.Error(t, err, status)
		assert.Equal(t, stepAnswer, stepOf(err), status)
		assert.Equal(t, want, r.Attempts, status)
		assert.Equal(t, status >= 300, errors.Is(err, httpclient.CodeStatus), status)
		assert.NotContains(t, err.Error(), "canary")
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(after string) Doer {
			n := 0
			return doer(func(req *http.Request) (*http.Response, error) {
				if n++; n == 1 {
					return respond(req, 429, header("Retry-After", after), 0, http.NoBody), nil
				}
				return respond(req, 200, header(), 1, breaking([]byte("x"), 1)), nil
			})
		}
		begun := time.Now()
		_, _, err := fetchMem(t, refuse("599"))
		require.NoError(t, err)
		assert.Equal(t, 599*time.Second, time.Since(begun))
		_, _, err = fetchMem(t, refuse("601"))
		assert.ErrorIs(t, err, httpclient.CodeStatus)
		assert.Equal(t, 599*time.Second, time.Since(begun))
	})
}

func TestTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		d := newMemDisk()
		server := &honest{body: content(1, 100), tag: tagOf(1), cuts: []int{50}}
		_, err := fetchWith(ctx, server, "http://h/", "f", withDisk(d), withRetry(retry.Policy{Initial: time.Minute, Max: time.Minute}))
		assert.ErrorIs(t, err, why)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, int64(50), errorOf(err).Kept)
		assert.Len(t, server.asked, 1)
	})
}

// What has come is made to last every 2 s, however little it is.
func TestSlowDownloadsAreKeptToo(t *testing.T) {
	fake := clockwork.NewFakeClock()
	d := newMemDisk()
	c := &config{disk: d, target: "f", sum: sha256Sum(), syncSize: defaultSyncSize, resource: "r", mode: defaultMode}
	c.clock = clock.New(fake)
	p, err := openPart(c)
	require.NoError(t, err)
	require.NoError(t, p.resume(t.Context(), func() {}))
	require.NoError(t, p.begin(`"a"`, 100))
	for _, tc := range []struct {
		after time.Duration
		kept  int64
	}{{0, 0}, {defaultSyncTime - 1, 0}, {1, 6}, {1, 6}, {defaultSyncTime - 1, 10}} {
		fake.Advance(tc.after)
		require.NoError(t, p.write([]byte("ab")))
		assert.Equal(t, tc.kept, p.vouched.Kept)
	}
	_, err = p.leave(true)
	require.NoError(t, err)
}

func TestProgress(t *testing.T) {
	body := content(1, 10*bufferSize)
	clock := clockwork.NewFakeClock()
	var told []Progress
	opts := []option{withClock(clock), withProgress(func(p Progress) { told = append(told, p) }, time.Second)}
	step := doer(func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, header(), len(body), steady{clock, 250 * time.Millisecond, breaking(body, len(body))}), nil
	})
	_, _, err := fetchMem(t, step, opts...)
	require.NoError(t, err)
	const b, all = bufferSize, 10 * bufferSize
	assert.Equal(t, []Progress{{b, all, 0}, {5 * b, all, 0}, {9 * b, all, 0}, {all, all, 0}}, told)
}

func TestAPanicInProgressLosesNothing(t *testing.T) {
	calls := 0
	d, _, err := fetchMem(t, &honest{body: content(1, 10*bufferSize), tag: tagOf(1)}, withProgress(func(Progress) { calls++; panic("boom") }, 1))
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
	assert.Equal(t, string(content(1, 10*bufferSize)), d.read())
}

func TestConfigurationIsChecked(t *testing.T) {
	get := func(edit func(*http.Request)) *http.Request {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/", http.NoBody)
		edit(req)
		return req
	}
	fine := get(func(*http.Request) {})
	for field, try := range map[string]func() (Result, error){
		"client":   func() (Result, error) { return doWith((*http.Client)(nil), fine, "f") },
		"target":   func() (Result, error) { return doWith(&honest{}, fine, "") },
		"target 2": func() (Result, error) { return doWith(&honest{}, fine, "a/") },
		"url":      func() (Result, error) { return fetchWith(t.Context(), &honest{}, "http://h:canary/", "f") },
		"req":      func() (Result, error) { return doWith(&honest{}, nil, "f") },
		"req 2": func() (Result, error) {
			return doWith(&honest{}, get(func(r *http.Request) { r.Method = "POST" }), "f")
		},
		"req 3": func() (Result, error) {
			return doWith(&honest{}, get(func(r *http.Request) { r.Header.Set("Range", "x") }), "f")
		},
		"req 4": func() (Result, error) {
			return doWith(&honest{}, get(func(r *http.Request) { r.Header.Set("If-Range", "x") }), "f")
		},
		"req 5": func() (Result, error) {
			return doWith(&honest{}, get(func(r *http.Request) { r.Body = breaking(nil, 0) }), "f")
		},
		"Checksum": func() (Result, error) { return doWith(&honest{}, fine, "f", withChecksum("md5:00")) },
		"Hashes": func() (Result, error) {
			return Do(&honest{}, fine, "f", Config{Hashes: map[string]func() hash.Hash{"md5": nil}})
		},
		"Checksum 2": func() (Result, error) {
			return Do(&honest{}, fine, "f", Config{Checksum: "md5:00", Hashes: map[string]func() hash.Hash{"md5": md5.New}})
		},
		"MaxBytes":      func() (Result, error) { return doWith(&honest{}, fine, "f", withMaxBytes(-1)) },
		"Mode":          func() (Result, error) { return doWith(&honest{}, fine, "f", withMode(0o444)) },
		"Mode 2":        func() (Result, error) { return doWith(&honest{}, fine, "f", withMode(fs.ModeSetuid|0o644)) },
		"ProgressEvery": func() (Result, error) { return doWith(&honest{}, fine, "f", withProgress(nil, -1)) },
		"Jitter":        func() (Result, error) { return doWith(&honest{}, fine, "f", withRetry(retry.Policy{Jitter: 2})) },
	} {
		_, err := try()
		problem, ok := errors.AsType[*fault.FieldError](err)
		require.True(t, ok, "%s: %v", field, err)
		assert.Equal(t, strings.TrimRight(field, " 2345"), problem.Field, field)
		assert.NotContains(t, err.Error(), "canary")
	}
}

func TestFilesOnARealDisk(t *testing.T) {
	body := content(1, 100)
	var opened fs.FileMode
	serve := func(target string) Doer {
		return doer(func(req *http.Request) (*http.Response, error) {
			if info, err := os.Stat(partPath(target)); err == nil {
				opened = info.Mode()
			}
			return (&honest{body: body, tag: tagOf(1)}).Do(req)
		})
	}
	target := filepath.Join(t.TempDir(), "f")
	fetch := func(opts ...option) fs.FileInfo {
		_, err := fetchWith(t.Context(), serve(target), "http://h/", target, opts...)
		require.NoError(t, err)
		info, err := os.Lstat(target)
		require.NoError(t, err)
		got, err := os.ReadFile(target)
		require.NoError(t, err)
		assert.Equal(t, string(body), string(got))
		return info
	}
	if runtime.GOOS == "windows" {
		fetch()
		t.Skip("has no permissions to look at")
	}
	assert.Equal(t, fs.FileMode(0o600), fetch(withMode(0o600)).Mode())
	assert.Equal(t, fs.FileMode(0o600), fetch().Mode(), "the old file hands it on")
	require.NoError(t, os.Chmod(target, 0o440))
	assert.Equal(t, fs.FileMode(0o440), fetch().Mode())
	assert.Equal(t, fs.FileMode(0o600), opened, "no other user can read it")
	require.NoError(t, os.WriteFile(partPath(target), []byte("of a stranger"), 0o666))
	require.NoError(t, os.Chmod(partPath(target), 0o666))
	assert.Equal(t, fs.FileMode(0o600), fetch(withMode(0o600)).Mode(), "of what was left too")

	elsewhere := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(elsewhere, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(elsewhere, partPath(target)))
	_, err := fetchWith(t.Context(), serve(target), "http://h/", target)
	assert.Equal(t, stepOpen, stepOf(err), "a link is not written through")
	require.NoError(t, os.Remove(partPath(target)))
	require.NoError(t, os.Remove(target))
	require.NoError(t, os.Symlink(elsewhere, target))
	assert.True(t, fetch().Mode().IsRegular(), "a link is replaced")
	got, err := os.ReadFile(elsewhere)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(got))

	_, err = fetchWith(t.Context(), serve(target), "http://h/", t.TempDir())
	assert.Equal(t, stepOpen, stepOf(err), "a folder")
	_, err = fetchWith(t.Context(), serve(target), "http://h/", filepath.Join(t.TempDir(), "no", "folder"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// Of many calls at once those that do not fail with ErrBusy succeed, and the file is whole whenever it is looked at.
func TestManyCallsForOneTarget(t *testing.T) {
	body := content(1, 3*bufferSize)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(body)))
	}))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	target := filepath.Join(t.TempDir(), "f")
	results := make(chan error)
	for range 8 {
		go func() {
			for range 4 {
				_, err := fetchWith(context.WithoutCancel(t.Context()), client, server.URL, target)
				results <- err
			}
		}()
	}
	done := 0
	for range 8 * 4 {
		err := <-results
		if err == nil {
			done++
		} else {
			require.ErrorIs(t, err, ErrBusy)
		}
		if got, err := os.ReadFile(target); err == nil {
			require.Equal(t, checksumOf(body), checksumOf(got))
		}
	}
	assert.Positive(t, done)
	left, err := os.ReadDir(filepath.Dir(target))
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

func TestASecondCallIsRefused(t *testing.T) {
	target := filepath.Join(t.TempDir(), "f")
	body := content(1, 100)
	var second error
	outer := doer(func(req *http.Request) (*http.Response, error) {
		_, second = fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", target)
		return (&honest{body: body, tag: tagOf(1)}).Do(req)
	})
	_, err := fetchWith(t.Context(), outer, "http://h/", target)
	require.NoError(t, err, "and the first is not disturbed")
	assert.ErrorIs(t, second, ErrBusy)
	assert.Equal(t, stepOpen, stepOf(second))
}

// The event names the requests as the client's own events do, and holds no secret.
func TestEvent(t *testing.T) {
	var n atomic.Int32
	body := content(1, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if n.Add(1) == 1 {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(body[:600])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(body)))
	}))
	defer server.Close()
	var own, theirs []event.Event
	client, err := httpclient.New(httpclient.Config{})
	require.NoError(t, err)
	defer client.Close()
	ctx := event.With(t.Context(), event.Func(func(e event.Event) { theirs = append(theirs, e) }))
	target := filepath.Join(t.TempDir(), "f")
	result, err := fetchWith(ctx, client, server.URL+"/?sig=canary", target, quick(3),
		withObserver(event.Func(func(e event.Event) { own = append(own, e) })))
	require.NoError(t, err)
	require.Len(t, own, 1)
	require.Len(t, theirs, 3)
	e := own[0]
	assert.Equal(t, theirs[2], e)
	assert.Equal(t, event.DownloadFetch, e.Kind)
	assert.Equal(t, strings.TrimPrefix(server.URL, "http://"), e.Source)
	assert.Equal(t, 2, e.Attempt)
	assert.Positive(t, e.Wait)
	assert.Equal(t, []string{theirs[0].Request.ID, theirs[1].Request.ID}, e.Download.Requests)
	assert.Equal(t, e.Download.Requests, result.Requests)
	assert.Equal(t, &event.Download{Target: "f", Requests: result.Requests, Bytes: 1000, Checksum: checksumOf(body)}, e.Download)
	var logged bytes.Buffer
	event.Slog(slog.New(slog.NewTextHandler(&logged, nil))).Observe(e)
	assert.Contains(t, logged.String(), "level=INFO")
}

func TestTheClientsBoundIsExplained(t *testing.T) {
	body := content(1, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(body)))
	}))
	defer server.Close()
	client, err := httpclient.New(httpclient.Config{MaxResponse: 60})
	require.NoError(t, err)
	defer client.Close()
	r, err := fetchWith(t.Context(), client, server.URL, filepath.Join(t.TempDir(), "f"), quick(3))
	assert.ErrorIs(t, err, httpclient.CodeBodyLimit)
	assert.ErrorContains(t, err, "raise httpclient.Config.MaxResponse")
	assert.Equal(t, 1, r.Attempts)
}

// An *http.Client repeats the URL in its errors, and a server may repeat anything.
func TestNoSecretsOfOtherClients(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirects in circles": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/?sig=canary", http.StatusFound)
		},
		"redirects to no URL": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://h:canary/")
			w.WriteHeader(http.StatusFound)
		},
		"redirects to an unknown scheme": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "canary://x/")
			w.WriteHeader(http.StatusFound)
		},
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "canary", http.StatusForbidden) },
	} {
		server := httptest.NewServer(h)
		client := server.Client()
		_, err := fetchWith(t.Context(), client, server.URL+"/?sig=canary", filepath.Join(t.TempDir(), "f"), quick(2))
		assert.Error(t, err, name)
		assert.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, errorOf(err).Unwrap()), "canary", name)
		client.CloseIdleConnections()
		server.Close()
	}
}

type steady struct {
	clock *clockwork.FakeClock
	every time.Duration
	body  interface {
		Read(p []byte) (int, error)
		Close() error
	}
}

func (s steady) Read(p []byte) (int, error) { s.clock.Advance(s.every); return s.body.Read(p) }
func (s steady) Close() error               { return s.body.Close() }
