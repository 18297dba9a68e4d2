package service

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/service/internal/rules"
)

const (
	// lookEvery is how often the file is compared with what was read. What two looks in a
	// row have seen is read, so that a file that is being written is not.
	lookEvery = 400 * time.Millisecond
	// reloadEvery is how often it is read in any case, with the files that it names.
	reloadEvery = time.Minute
)

// watch reads the file when it changes. It compares contents, so that it follows symbolic
// links that are swapped, and misses no change within the precision of a clock.
func (s *Server) watch(ctx context.Context) {
	last := s.clock.Elapsed()
	var was look
	for {
		over := make(chan struct{})
		timer := s.clock.AfterFunc(lookEvery, func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		is := s.look()
		now := s.clock.Elapsed()
		if is.same(was) && (now-last >= reloadEvery || s.differs(is)) && s.settle(ctx, is) {
			last = now
		}
		was = is
	}
}

// look is what the files were at an instant.
type look struct {
	data  []byte
	envoy []byte // the sum of Envoy's files
	taken bool   // there was a look
	gone  bool   // the file could not be read
}

func (l look) same(of look) bool {
	return of.taken && l.gone == of.gone && bytes.Equal(l.data, of.data) && bytes.Equal(l.envoy, of.envoy)
}

func (s *Server) look() look {
	data, err := rules.Read(s.config.File)
	s.mu.Lock()
	files := s.file.files
	s.mu.Unlock()
	return look{data, sumOf(files), true, err != nil}
}

// settle reloads the file if it still is what was seen.
func (s *Server) settle(ctx context.Context, seen look) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.config.read()
	is := look{next.data, seen.envoy, true, next.data == nil}
	if err == nil && slices.Equal(next.config.Envoy.Files, s.file.files) {
		is.envoy = next.envoy.sum
	}
	if !is.same(seen) {
		return false
	}
	_ = s.reloadLocked(ctx, next, err) // it says so itself
	return true
}

// differs reports whether the files are others than those that were read last.
func (s *Server) differs(is look) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.file
	if is.gone {
		return f.seen != nil
	}
	return !bytes.Equal(is.data, f.seen) || !bytes.Equal(is.envoy, f.envoy)
}
