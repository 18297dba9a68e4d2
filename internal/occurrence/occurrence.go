// Package occurrence tells items of the same content apart, in the order in
// which a run meets them, so that the next process that goes on with the run
// gives them the same numbers.
package occurrence

import (
	"context"
	"crypto/sha256"
	"sync"
)

// Book is the counts of one run of one process.
type Book struct {
	mu    sync.Mutex // guards parts
	parts map[string]*Counter
}

// Counter counts the occurrences in one part of a run. Next belongs to one
// goroutine at a time.
type Counter struct {
	book *Book
	busy bool // guarded by the book's lock
	// A content is kept as 16 bytes of its SHA-256: by accident no two are the same.
	seen map[[16]byte]int64
}

// BusyError is a part that is counted twice at once, where the order, and with
// it the numbers, would be another in each process.
type BusyError struct{ Part string }

// Error names the part.
func (e *BusyError) Error() string {
	return e.Part + " is at work twice at the same time"
}

type (
	bookKey struct{}
	pathKey struct{}
)

// With returns a context whose runs count together: a batch that runs twice
// under it, as in a loop, counts on.
func With(ctx context.Context) context.Context {
	if _, ok := ctx.Value(bookKey{}).(*Book); ok {
		return ctx
	}
	return context.WithValue(ctx, bookKey{}, &Book{parts: map[string]*Counter{}})
}

// Open returns the counter of part under ctx, or a new one if ctx is not of
// With. Close it before the part is opened again.
func Open(ctx context.Context, part string) (*Counter, error) {
	b, ok := ctx.Value(bookKey{}).(*Book)
	if !ok {
		b = &Book{parts: map[string]*Counter{}}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.parts[part]
	if c == nil {
		c = &Counter{book: b, seen: map[[16]byte]int64{}}
		b.parts[part] = c
	}
	if c.busy {
		return nil, &BusyError{part}
	}
	c.busy = true
	return c, nil
}

// Next returns how often content was there before.
func (c *Counter) Next(content string) int64 {
	sum := sha256.Sum256([]byte(content))
	short := [16]byte(sum[:16])
	n := c.seen[short]
	c.seen[short] = n + 1
	return n
}

// Close lets the part be opened again.
func (c *Counter) Close() {
	c.book.mu.Lock()
	defer c.book.mu.Unlock()
	c.busy = false
}

// Inside returns the context of an item, which goes before the names of what runs inside.
func Inside(ctx context.Context, item string) context.Context {
	return context.WithValue(ctx, pathKey{}, item)
}

// Path is name with the item that ctx is inside of, if any, before it.
func Path(ctx context.Context, name string) string {
	if item, ok := ctx.Value(pathKey{}).(string); ok {
		return item + "/" + name
	}
	return name
}
