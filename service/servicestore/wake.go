package servicestore

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/metadata"

	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// mostWatched bounds the keys that are watched at a time, each by a stream.
const mostWatched = 256

// watches is the keys that are watched. There is one stream for all watchers of a key, while it has some.
type watches struct {
	mu   sync.Mutex // guards everything below, and the watchers of each
	keys map[string]*watched
}

// watched is a key. It is settled once the server announces its changes, or never will.
type watched struct {
	watchers map[chan struct{}]struct{}
	end      context.CancelFunc
	settled  chan struct{}
	err      error
}

// Changed implements quota.Waker. At most 256 keys can be watched at a time. If the connection is lost, all watchers
// receive a value, and nothing after it.
func (s *Store) Changed(ctx context.Context, keys ...string) (<-chan struct{}, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, key := range keys {
		if err := checkKey(fmt.Sprintf("keys[%d]", i), key); err != nil {
			return nil, err
		}
	}
	changed := make(chan struct{}, 1)
	var list []*watched
	for _, key := range keys {
		w, err := s.watch(key, changed) //nolint:contextcheck // other watchers may stay longer
		if err != nil {
			s.unwatch(changed, keys)
			return nil, err
		}
		list = append(list, w)
	}
	context.AfterFunc(ctx, func() { s.unwatch(changed, keys) })
	timed, cancel := s.bounded(ctx)
	defer cancel()
	for _, w := range list {
		select {
		case <-w.settled:
			if w.err != nil {
				s.unwatch(changed, keys)
				return nil, w.err
			}
		case <-timed.Done():
			s.unwatch(changed, keys)
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case s.life.Err() != nil:
				return nil, errClosed
			}
			return nil, &UnavailableError{Problem: slow}
		}
	}
	return changed, nil
}

// watch adds a watcher of key.
func (s *Store) watch(key string, changed chan struct{}) (*watched, error) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	w := s.watches.keys[key]
	if w == nil {
		if len(s.watches.keys) >= mostWatched {
			return nil, fmt.Errorf("servicestore: %d keys are watched already", mostWatched)
		}
		ctx, cancel := context.WithCancel(s.life)
		w = &watched{watchers: map[chan struct{}]struct{}{}, end: cancel, settled: make(chan struct{})}
		if !s.background(func() { s.listen(ctx, key, w) }) {
			cancel()
			return nil, errClosed
		}
		if s.watches.keys == nil {
			s.watches.keys = map[string]*watched{}
		}
		s.watches.keys[key] = w
	}
	w.watchers[changed] = struct{}{}
	return w, nil
}

func (s *Store) unwatch(changed chan struct{}, keys []string) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	for _, key := range keys {
		w := s.watches.keys[key]
		if w == nil {
			continue
		}
		if delete(w.watchers, changed); len(w.watchers) == 0 {
			w.end()
			delete(s.watches.keys, key)
		}
	}
}

// listen wakes the watchers of a key until ctx or the stream ends.
func (s *Store) listen(ctx context.Context, key string, w *watched) {
	defer w.end()
	stream, err := s.stub.Changed(ctx, &pb.ChangedRequest{Keys: []string{key}})
	if err == nil {
		var header metadata.MD
		if header, err = stream.Header(); err == nil && header == nil { // it ended without any
			_, err = stream.Recv()
		}
	}
	if err != nil {
		w.err = s.fault(err)
		s.drop(key, w)
		close(w.settled)
		return
	}
	close(w.settled)
	for {
		if _, err := stream.Recv(); err != nil {
			s.drop(key, w)
			return
		}
		s.wake(w)
	}
}

// drop forgets a key after its stream has ended: the next watcher begins another. Its watchers must ask again.
func (s *Store) drop(key string, w *watched) {
	s.watches.mu.Lock()
	if s.watches.keys[key] == w {
		delete(s.watches.keys, key)
	}
	s.watches.mu.Unlock()
	s.wake(w)
}

func (s *Store) wake(w *watched) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	for changed := range w.watchers {
		select {
		case changed <- struct{}{}:
		default: // it has a value already
		}
	}
}
