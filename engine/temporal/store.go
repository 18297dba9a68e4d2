package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/internal/syncdir"
)

// ErrNotFound is the error of Store.Get for a key without a value.
var ErrNotFound = errors.New("temporal: no such key in the store")

// Store keeps states, items and results of runs, so that histories need not. All workers and the
// programs that start runs use the same one. Values are written once, or again with equal meaning. It
// must be safe for concurrent use. Keys have slashes between their parts.
type Store interface {
	// Put stores data under key, all of it or nothing. It is durable when Put returns.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns the data of key, or an error that is ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// Delete deletes key and all keys that begin with key and a slash.
	Delete(ctx context.Context, key string) error
}

// Dir is a Store in a directory that all machines share, such as on NFS. It is created when it is
// first used.
type Dir string

func (d Dir) path(key string) (string, error) {
	p := filepath.FromSlash(key)
	if !filepath.IsLocal(p) {
		return "", fmt.Errorf("temporal: %q is not a key of a store", key)
	}
	return filepath.Join(string(d), p), nil
}

// value is what the name of a file with a value ends in: what lies under its key is in a directory.
const value = ".json"

// Put implements Store.
func (d Dir) Put(_ context.Context, key string, data []byte) (err error) {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	in := filepath.Dir(path)
	if err := makeDirs(in); err != nil {
		return err
	}
	f, err := os.CreateTemp(in, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Sync())
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path+value)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(in)
}

// makeDirs creates a directory and those above it, durably.
func makeDirs(name string) error {
	var changed []string
	for at, above := name, filepath.Dir(name); at != above; at, above = above, filepath.Dir(above) { // a drive of Windows may be missing
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		changed = append(changed, above)
	}
	err := os.MkdirAll(name, 0o700)
	for _, above := range changed {
		err = cmp.Or(err, syncDir(above))
	}
	return err
}

// syncDir makes the names of a directory durable. Tests replace it.
var syncDir = syncdir.Sync //nolint:gochecknoglobals // see above

// Get implements Store.
func (d Dir) Get(_ context.Context, key string) ([]byte, error) {
	path, err := d.path(key)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path + value) //nolint:gosec // below the directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return data, err
}

// Delete implements Store.
func (d Dir) Delete(_ context.Context, key string) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	if path == filepath.Clean(string(d)) {
		return errors.New("temporal: the key is empty")
	}
	err = os.Remove(path + value)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return cmp.Or(os.RemoveAll(path), err)
}

const (
	// storePatience is for how long a value is stored again: an answer that was paid for is not thrown
	// away because the store has a bad minute.
	storePatience = time.Minute
	storePause    = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// keep stores data, and tries again for a while. If ctx has ended it tries once.
func keep(ctx context.Context, s Store, key string, data []byte) (err error) {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	for pause := storePause; ; pause = min(2*pause, longestPause) {
		if err = s.Put(patient, key, data); err == nil || patient.Err() != nil || !sleep(ctx, pause) {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read returns a value of a store, and a panic of the store as an error.
func read(ctx context.Context, s Store, key string) (data []byte, err error) {
	defer panics.Catch(&err)
	return s.Get(ctx, key)
}

// kept is the result of a run, which stays in the store when the rest is deleted.
type kept struct {
	Run   string          `json:"run"`   // what the keys of the run began with
	Input string          `json:"input"` // digest
	State json.RawMessage `json:"state"`
}

// keptKey is where the result of the run with an ID is.
func keptKey(o *Options, id string) string {
	sum := sha256.Sum256([]byte(o.Namespace + "\x00" + id))
	return "headrace/kept/" + safe(id[:min(len(id), mostOfID)]) + "-" + hex.EncodeToString(sum[:12])
}

// mostOfID is how much of an ID is part of a key, for people: file systems bound names.
const mostOfID = 100

func keptAt(ctx context.Context, s Store, key string) (k kept, err error) {
	data, err := s.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	return k, err
}

// safe makes a part of a key of text that a user chose.
func safe(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		default:
			return '_'
		}
	}, text)
}
