package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/retry"
)

// kept puts what a call for http://h/ left of a file on d.
func kept(d *memDisk, body []byte, n int) {
	d.put(".f.part", string(body[:n]))
	d.put(".f.part.json", string(state{Resource: hashOf("http://h/"), Validator: `"v1"`, Kept: int64(n), Total: int64(len(body))}.encode()))
}

// An existing part is read again, which takes time: progress is reported, and the context ends it.
func TestReadingAgainIsToldAndEnds(t *testing.T) {
	body := content(1, 4*bufferSize)
	d := newMemDisk()
	kept(d, body, 3*bufferSize)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var told []Progress
	report := withProgress(func(p Progress) {
		if told = append(told, p); len(told) == 2 {
			cancel(why)
		}
	}, 1)
	server := &honest{body: body, tag: tagOf(1)}
	const b, all = bufferSize, 4 * bufferSize
	r, err := fetchWith(ctx, server, "http://h/", "f", withDisk(d), report)
	assert.ErrorIs(t, err, why)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, stepOpen, stepOf(err))
	assert.Equal(t, int64(3*b), errorOf(err).Kept)
	assert.Equal(t, []Progress{{b, all, b}, {2 * b, all, 2 * b}}, told)
	assert.Empty(t, server.asked)
	assert.Zero(t, r.Bytes-r.Resumed, "nothing was fetched")
	assert.Equal(t, []string{".f.part", ".f.part.json"}, d.list())

	r, err = fetchWith(t.Context(), server, "http://h/", "f", withDisk(d))
	require.NoError(t, err)
	assert.Equal(t, int64(3*b), r.Resumed)
	assert.Equal(t, string(body), d.read())
}

// A part that is shorter than its state says is of no use.
func TestAPartThatIsTooShort(t *testing.T) {
	body := content(1, 1000)
	d := newMemDisk()
	kept(d, body, 500)
	d.put(".f.part", string(body[:499]))
	server := &honest{body: body, tag: tagOf(1)}
	r, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(d))
	require.NoError(t, err)
	assert.Equal(t, []string{""}, server.asked)
	assert.Zero(t, r.Resumed)
	assert.Equal(t, checksumOf(body), r.Checksum)
}

// sparse sends size bytes more than it overlaps at most.
type sparse struct {
	honest
	size int
}

func (s *sparse) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.honest.Do(req)
	r, ranged := parseContentRange(resp.Header.Values("Content-Range"))
	if !ranged { // the first
		resp.Body = io.NopCloser(bytes.NewReader(s.body[:s.size]))
		return resp, err
	}
	r.last = min(r.last, r.first+int64(s.size))
	resp.ContentLength = r.last - r.first + 1
	resp.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", r.first, r.last, r.total))
	resp.Body = io.NopCloser(bytes.NewReader(s.body[r.first : r.last+1]))
	return resp, err
}

// A server that sends a few bytes each time is waited for, and one that sends many is not.
func TestShortAnswersWait(t *testing.T) {
	for name, tc := range map[string]struct {
		size, pieces int
		waits        int
	}{
		"few":                {99, 10, 9},
		"as many as is fine": {minGain, 4, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			body := content(1, tc.size*tc.pieces)
			server := &sparse{honest{body: body, tag: tagOf(1)}, tc.size}
			begun := time.Now()
			d, r, err := fetchMem(t, server, withRetry(retry.Policy{MaxAttempts: 2, Initial: time.Second, Max: time.Second, Jitter: 1e-9}))
			require.NoError(t, err, name)
			assert.Equal(t, tc.pieces, r.Attempts, name)
			assert.Equal(t, tc.waits, int(time.Since(begun).Round(time.Second)/time.Second), name)
			assert.Equal(t, string(body), d.read(), name)
		})
	}
}

// A permission that the owner does not have is given back to go on from the part, and not to remove it.
func TestAReadOnlyTargetIsGoneOnWith(t *testing.T) {
	body := content(1, 1000)
	d := newMemDisk()
	d.put("f", "old")
	d.names["f"].mode = 0o444
	server := &honest{body: body, tag: tagOf(1)}
	stuck := &sticky{memDisk: d, stuck: true}
	_, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(stuck), quick(1))
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.Equal(t, stepPublish, stepOf(err))
	assert.Equal(t, int64(1000), errorOf(err).Kept)
	stuck.stuck = false
	r, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(stuck), quick(1))
	require.NoError(t, err)
	assert.Equal(t, int64(1000), r.Resumed)
	assert.Equal(t, string(body), d.read())
	assert.Equal(t, fs.FileMode(0o444), d.names["f"].mode)
}

// A part that cannot be opened even so is replaced.
func TestAPartThatCannotBeOpenedIsReplaced(t *testing.T) {
	body := content(1, 1000)
	d := newMemDisk()
	kept(d, body, 500)
	d.names[".f.part"].mode = 0
	d.failAt = 6
	r, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", "f", withDisk(d), quick(1))
	require.Equal(t, "unseal", d.failed)
	require.NoError(t, err)
	assert.Zero(t, r.Resumed)
	assert.Equal(t, string(body), d.read())
}

// sticky is a folder in which a rename may not replace another user's file.
type sticky struct {
	*memDisk
	stuck bool
}

func (s *sticky) rename(from, to string) error {
	if s.stuck {
		return fs.ErrPermission
	}
	return s.memDisk.rename(from, to)
}

// The permissions are those that the last call wants, whatever an earlier one had made the part with.
func TestTheModeOfAResumedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no permissions to look at")
	}
	body := content(1, 1000)
	fresh := filepath.Join(t.TempDir(), "fresh") // what the umask leaves
	_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", fresh)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		first, second []option
		old           fs.FileMode // of a target that is gone at the second call
		same          bool        // as a fresh one
		want          fs.FileMode
	}{
		"narrower":              {nil, []option{withMode(0o600)}, 0, false, 0o600},
		"wider":                 {[]option{withMode(0o600)}, []option{withMode(0o700)}, 0, false, 0o700},
		"the default":           {[]option{withMode(0o600)}, nil, 0, true, 0},
		"the target is deleted": {nil, nil, 0o600, true, 0},
	} {
		target := filepath.Join(t.TempDir(), "f")
		if tc.old != 0 {
			require.NoError(t, os.WriteFile(target, nil, tc.old))
		}
		_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1), cuts: []int{500}}, "http://h/", target, append(tc.first, quick(1))...)
		require.Equal(t, int64(500), errorOf(err).Kept, name)
		if tc.old != 0 {
			require.NoError(t, os.Remove(target))
		}
		r, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", target, tc.second...)
		require.NoError(t, err, name)
		assert.Equal(t, int64(500), r.Resumed, name)
		info, err := os.Stat(target)
		require.NoError(t, err)
		if tc.same {
			like, err := os.Stat(fresh)
			require.NoError(t, err)
			tc.want = like.Mode()
		}
		assert.Equal(t, tc.want, info.Mode(), name)
		left, err := os.ReadDir(filepath.Dir(target))
		require.NoError(t, err)
		assert.Len(t, left, 1, name)
	}
}
