// Package occurrence is what the runs of one process know of each other: it
// tells items of the same content apart, in the order in which they are met, so
// that the next process that goes on with them gives them the same numbers.
package occurrence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
)

// Book has the parts of one scope: of a run of a flow, of an attempt at an
// item, or, where there is neither, of a single run.
type Book struct {
	claims *Claims
	outer  *Book          // nil, or the one that an attempt goes on from
	mu     sync.Mutex     // guards parts, and busy and last of each
	parts  map[Name]*Part // nil before the first
}

// Name is that of a part.
type Name struct{ Run, Node string }

// BusyError is a part that is counted twice at once, where the order, and with
// it the numbers, would be another in each process.
type BusyError struct{ Name Name }

// Error names the part.
func (e *BusyError) Error() string {
	return fmt.Sprintf("node %q of run %q is at work twice at the same time", e.Name.Node, e.Name.Run)
}

// MixedError is a part that two batches of one name count in, so that the results
// of one would be taken for those of the other.
type MixedError struct {
	Name   Name
	Of, By string // the code of the two
}

// Error names the part and the remedy.
func (e *MixedError) Error() string {
	return fmt.Sprintf("node %q of run %q is two batches of one name, of %s and of %s, and would take results of the one for "+
		"those of the other: give each a name of its own", e.Name.Node, e.Name.Run, e.Of, e.By)
}

type (
	bookKey struct{}
	pathKey struct{}
)

// With returns a context that counts runs: a batch that runs twice
// under it, as in a loop, continues the count. Call end after the last. Inside of another
// scope there is nothing to do.
func With(ctx context.Context) (scoped context.Context, end func()) {
	if In(ctx) {
		return ctx, func() {}
	}
	b := &Book{claims: newClaims()}
	return context.WithValue(ctx, bookKey{}, b), b.end
}

// In reports whether ctx is in a scope.
func In(ctx context.Context) bool {
	_, ok := ctx.Value(bookKey{}).(*Book)
	return ok
}

// Inside returns the context of an attempt at an item of p, with a scope of its own:
// another attempt meets the same again. The name of the item goes before the names of what runs inside.
func (p *Part) Inside(ctx context.Context, content string, occurrence int64) (inner context.Context, end func()) {
	i := &inside{Context: ctx, book: Book{claims: p.book.claims}, node: p.name.Node, content: content, occurrence: occurrence}
	return i, i.book.end
}

// inside is the context of an attempt at an item. Most have no batch inside that asks for the path.
type inside struct {
	context.Context //nolint:containedctx // it is a context

	book          Book
	node, content string
	occurrence    int64
}

// Value makes the item's book the one of its scope, and its name the path.
func (i *inside) Value(key any) any {
	switch key.(type) {
	case bookKey:
		return &i.book
	case pathKey:
		return Item(i.node, i.content, i.occurrence)
	}
	return i.Context.Value(key)
}

// Branch returns the context of one of several nodes that run at the same time in
// the scope of ctx. Its name goes before the names of what runs inside, so that the
// numbers of equal items do not depend on which branch is faster.
func Branch(ctx context.Context, name string) context.Context {
	if strings.ContainsAny(name, "[]#/") { // which would be taken for parts of the path
		name = Of(name).String()
	}
	if path := Path(ctx, name); len(path) <= maxPath {
		return context.WithValue(ctx, pathKey{}, path)
	}
	return context.WithValue(ctx, pathKey{}, Of(Path(ctx, name)).String())
}

// maxPath is how long the path of an item or a branch may be, in bytes.
const maxPath = 256

// Path is name with the item and the branches that ctx is inside of, if any, before it.
func Path(ctx context.Context, name string) string {
	if item, ok := ctx.Value(pathKey{}).(string); ok {
		return item + "/" + name
	}
	return name
}

// Item names an item, by a name that stays short however deep it lies.
func Item(node, content string, occurrence int64) string {
	if len(content) > 2*len(Short{}) || strings.ContainsAny(content, "[]#/") { // which would be taken for parts of the path
		content = Of(content).String()
	}
	if item := fmt.Sprintf("%s[%s#%d]", node, content, occurrence); len(item) <= maxPath {
		return item
	}
	return fmt.Sprintf("%s[%s#%d]", Of(node), content, occurrence)
}

// end calls what was given to Close for the end of the scope.
func (b *Book) end() {
	b.mu.Lock()
	parts := b.parts
	b.parts = nil
	b.mu.Unlock()
	for _, p := range parts {
		if p.last != nil {
			p.last()
		}
	}
}

// Short is enough of a SHA-256 that by accident no two are the same.
type Short [16]byte

// Of returns that of content.
func Of(content string) Short {
	sum := sha256.Sum256([]byte(content))
	return Short(sum[:16])
}

// String returns it as hex.
func (s Short) String() string { return hex.EncodeToString(s[:]) }
