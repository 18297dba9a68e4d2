package download

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
)

// A length that is too long is refused by the header: nothing is read and what was there is given up.
func TestTooLongByTheHeader(t *testing.T) {
	d := newMemDisk()
	body := content(1, 100)
	kept(d, body, 50)
	read := 0
	client := doer(func(req *http.Request) (*http.Response, error) {
		counted := io.NopCloser(readerFunc(func([]byte) (int, error) { read++; return 0, io.EOF }))
		return respond(req, 200, header("ETag", tagOf(2)), 100, counted), nil
	})
	_, err := fetchWith(t.Context(), client, "http://h/", "f", withDisk(d), withMaxBytes(99))
	assert.ErrorIs(t, err, ErrTooLarge)
	assert.Equal(t, stepAnswer, stepOf(err))
	assert.Zero(t, read)
	assert.Zero(t, errorOf(err).Kept)
	assert.Empty(t, d.list())
}

// A file that turns out to be too long while it is read leaves nothing, though its version has a name.
func TestTooLongByTheBody(t *testing.T) {
	body := content(1, 3*bufferSize)
	client := doer(func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, header("ETag", `"a"`), -1, breaking(body, len(body))), nil
	})
	d, _, err := fetchMem(t, client, withMaxBytes(2*bufferSize), withSyncSize(1))
	assert.ErrorIs(t, err, ErrTooLarge)
	assert.Zero(t, errorOf(err).Kept)
	assert.Empty(t, d.list())
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// A disk that fails from one call on, and not at one.
type failingDisk struct {
	*memDisk
	from int
}

func (d *failingDisk) lock(name string) (file, error) {
	f, err := d.memDisk.lock(name)
	if err != nil {
		return nil, err
	}
	return failingFile{f.(*memFile), d}, nil
}

type failingFile struct {
	*memFile
	disk *failingDisk
}

func (f failingFile) WriteAt(p []byte, off int64) (int, error) {
	if f.disk.from--; f.disk.from < 0 {
		return 0, errBroken
	}
	return f.memFile.WriteAt(p, off)
}

// Once a state may be torn nothing is vouched for, also if the disk never writes again.
func TestAStateThatMayBeTornVouchesForNothing(t *testing.T) {
	d := &failingDisk{memDisk: newMemDisk(), from: 1}
	body := content(1, 3*bufferSize)
	_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", "f", withDisk(noUnlock{d}), withSyncSize(bufferSize), quick(1))
	require.ErrorIs(t, err, errBroken)
	assert.Zero(t, errorOf(err).Kept)
}

// noUnlock unwraps what failingDisk locked.
type noUnlock struct{ *failingDisk }

func (d noUnlock) unlock(f file, name string, remove bool) error {
	return d.memDisk.unlock(f.(failingFile).memFile, name, remove)
}

// The cause of the context is returned also if the context ends during an attempt.
func TestTheContextEndsAnAttempt(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := doer(func(*http.Request) (*http.Response, error) { cancel(why); return nil, errBroken })
	var told []event.Event
	r, err := fetchWith(ctx, client, "http://h/", "f", withDisk(newMemDisk()), withObserver(event.Func(func(e event.Event) { told = append(told, e) })))
	assert.ErrorIs(t, err, why)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, stepRequest, stepOf(err))
	assert.Equal(t, 1, r.Attempts)
	require.Len(t, told, 1)
	assert.Empty(t, told[0].Download.Checksum, "of a failure")
	assert.Equal(t, err, told[0].Err)
}

// A deadline is not all that was wrong.
func TestTheContextEndsALaterAttempt(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	attempts := 0
	client := doer(func(*http.Request) (*http.Response, error) {
		if attempts++; attempts == 1 {
			return nil, errBroken
		}
		cancel(why)
		return nil, ctx.Err()
	})
	_, err := fetchWith(ctx, client, "http://h/", "f", withDisk(newMemDisk()), quick(3))
	assert.ErrorIs(t, err, why)
	assert.ErrorIs(t, err, errBroken)
	assert.Equal(t, 2, attempts)
}

// What another URL left stays if nothing comes in its place.
func TestWhatAnotherURLLeftStays(t *testing.T) {
	d := newMemDisk()
	body := content(1, 1000)
	kept(d, body, 500)
	missing := doer(func(req *http.Request) (*http.Response, error) {
		return respond(req, 404, header(), 0, http.NoBody), nil
	})
	_, err := fetchWith(t.Context(), missing, "http://h/other", "f", withDisk(d), quick(1))
	assert.Zero(t, errorOf(err).Kept)
	r, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", "f", withDisk(d), quick(1))
	require.NoError(t, err)
	assert.Equal(t, int64(500), r.Resumed)
}

// What an earlier call left does not count as progress of this one.
func TestWhatWasThereIsNoProgress(t *testing.T) {
	d := newMemDisk()
	body := content(1, 1000)
	kept(d, body, 500)
	server := &honest{body: body, tag: tagOf(1), cuts: []int{1, 1, 1, 1, 1}}
	r, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(d), quick(3))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 3, r.Attempts)
}

// A state of another format is not one of ours.
func TestAStateOfAnotherFormat(t *testing.T) {
	line := string(state{Kept: 1, Total: 2}.encode())
	_, text, _ := strings.Cut(line, " ")
	assert.Zero(t, decode(stamped(strings.Replace(text, `"format":1`, `"format":2`, 1))))
	assert.NotZero(t, decode(stamped(text)))
}
