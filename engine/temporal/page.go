package temporal

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/headrace/headrace/engine"
	"github.com/headrace/headrace/internal/panics"
)

// pageSize bounds the pages of a batch. It matters only where the pages are made: a change of it does not
// concern runs in progress.
type pageSize struct {
	items int // a workflow has them in its history
	flows int // the same for a batch of flows: a child workflow takes more of it
	bytes int // of JSON; a larger item has a page for itself
	item  int // the same for one item, which fails beyond it
}

var defaultSize = pageSize{items: 1000, flows: 200, bytes: 8 << 20, item: 32 << 20} //nolint:gochecknoglobals // it is constant

// of returns how many items of a batch are in a page.
func (s *pageSize) of(p *engine.Part) int {
	if len(p.Inside) > 0 {
		return s.flows
	}
	return s.items
}

const (
	// mostPages is how many pages a worker has in memory.
	mostPages = 8
	// pagePatience is how long the store may take for a page.
	pagePatience = time.Minute
)

// listed is an item of a page.
type listed struct {
	In  json.RawMessage     `json:"in,omitempty"`
	Err *engine.RemoteError `json:"err,omitempty"` // the input failed to produce it
}

// stored is a page of a batch.
type stored struct {
	First int64    `json:"first"` // index of its first item
	Items []listed `json:"items"`
}

func pageKey(key string, page int64) string { return key + "/in/" + strconv.FormatInt(page, 10) }

func resultKey(key string, page, index int64) string {
	return key + "/out/" + strconv.FormatInt(page, 10) + "/" + strconv.FormatInt(index, 10)
}

// itemKey is where an item is that is the state of a flow.
func itemKey(key string, page, index int64) string {
	return key + "/item/" + strconv.FormatInt(page, 10) + "/" + strconv.FormatInt(index, 10)
}

// pageWriter stores the items of a batch in pages.
type pageWriter struct {
	*activities

	call  *call
	flows bool // the items are states of flows
	most  int  // items in a page
	page  stored
	bytes int   // of the items in page
	count int64 // pages that are stored
}

// add appends an item, or the error that stands for one. Its own error, and a panic, are of the store.
func (w *pageWriter) add(ctx context.Context, item []byte, err error) (broken error) {
	defer panics.Catch(&broken)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && len(item) > w.size.item {
		err = fmt.Errorf("temporal: item %d of node %q has %d bytes of JSON, and the maximum is %d: store large data elsewhere, and use references as items",
			w.page.First+int64(len(w.page.Items)), w.call.Path, len(item), w.size.item)
		item = nil
	}
	if len(w.page.Items) == w.most || w.bytes+len(item) > w.size.bytes {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if err == nil && w.flows {
		if err := keep(ctx, w.store, itemKey(w.call.Key, w.count, int64(len(w.page.Items))), item); err != nil {
			return err
		}
	}
	w.page.Items = append(w.page.Items, listed{In: item, Err: engine.Remote(err)})
	w.bytes += len(item)
	return nil
}

// flush stores the page, unless it is empty.
func (w *pageWriter) flush(ctx context.Context) error {
	if len(w.page.Items) == 0 {
		return nil
	}
	data, err := json.Marshal(w.page)
	if err == nil {
		err = keep(ctx, w.store, pageKey(w.call.Key, w.count), data)
	}
	w.count++
	w.page, w.bytes = stored{First: w.page.First + int64(len(w.page.Items)), Items: w.page.Items[:0]}, 0
	return err
}

// pages reads pages from a store, and has the last ones in memory.
type pages struct {
	store Store

	mu   sync.Mutex // guards what follows
	keys []string   // the one that was used last comes last
	all  map[string]*page
}

type page struct {
	turn  chan struct{} // has room for the one that reads it
	value *stored       // nil: not read yet
}

// item returns an item of the batch with the key prefix key, and its index in the batch.
func (s *pages) item(ctx context.Context, key string, number, index int64) (it listed, at int64, err error) {
	p, err := s.get(ctx, pageKey(key, number))
	if err != nil {
		return it, 0, err
	}
	if index < 0 || index >= int64(len(p.Items)) {
		return it, 0, fmt.Errorf("temporal: page %d has %d items and not %d", number, len(p.Items), index+1)
	}
	return p.Items[index], p.First + index, nil
}

// get returns a page, which one of several callers reads. If the store hangs, the others wait no longer than it may take.
func (s *pages) get(ctx context.Context, key string) (v stored, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pagePatience, fmt.Errorf("temporal: the store has not returned page %s within %v", key, pagePatience))
	defer cancel()
	p := s.use(key)
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
	if p.value != nil {
		return *p.value, nil
	}
	data, err := read(ctx, s.store, key)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("temporal: page %s: %w", key, err)
	}
	p.value = &v
	return v, nil
}

func (s *pages) use(key string) *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*page{}
	}
	for i, k := range s.keys {
		if k == key {
			s.keys = append(s.keys[:i], s.keys[i+1:]...)
			break
		}
	}
	s.keys = append(s.keys, key)
	if len(s.keys) > mostPages {
		delete(s.all, s.keys[0])
		s.keys = s.keys[1:]
	}
	p := s.all[key]
	if p == nil {
		p = &page{turn: make(chan struct{}, 1)}
		s.all[key] = p
	}
	return p
}
