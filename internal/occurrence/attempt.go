package occurrence

import "context"

// attempt is the context of one of several attempts at the same work.
type attempt struct {
	context.Context //nolint:containedctx // it is a context

	book Book
}

// Value makes the attempt's book the one of its scope.
func (a *attempt) Value(key any) any {
	if key == (bookKey{}) {
		return &a.book
	}
	return a.Context.Value(key)
}

// Attempt returns the context of one of several attempts at the same work. Each
// goes on from where the scope of ctx is, and so meets the same as the one
// before; what it has counted is forgotten unless [Book.Keep] is called, once it is the last.
// Without a scope ctx comes back, and the book is nil. There is one for each call: it is one allocation.
func Attempt(ctx context.Context) (context.Context, *Book) {
	outer, ok := ctx.Value(bookKey{}).(*Book)
	if !ok {
		return ctx, nil
	}
	a := &attempt{Context: ctx, book: Book{claims: outer.claims, outer: outer}}
	return a, &a.book
}

// Keep adds to the parts of the scope what their parts in b have counted. A nil b has none.
func (b *Book) Keep() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.parts {
		p.mu.Lock()
		seen, found, output := p.seen, p.found, p.output
		p.seen, p.found, p.output = map[Short]int64{}, 0, nil
		p.mu.Unlock()
		p.outer.add(seen, found, output)
	}
}

func (p *Part) add(seen map[Short]int64, found int64, output *Output) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if output != nil {
		p.output = output
	}
	if p.found += found; len(p.seen) == 0 {
		p.seen = seen // as after the first attempt, mostly
		return
	}
	for content, n := range seen {
		p.seen[content] += n
	}
}
