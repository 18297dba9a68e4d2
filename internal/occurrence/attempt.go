package occurrence

import "context"

// Attempt returns the context of one of several attempts at the same work. Each
// goes on from where the scope of ctx is, and so meets the same as the one
// before; what it has counted is forgotten unless keep is called, once it is the last.
// Without a scope ctx comes back, and keep is nil.
func Attempt(ctx context.Context) (attempt context.Context, keep func()) {
	outer, ok := ctx.Value(bookKey{}).(*Book)
	if !ok {
		return ctx, nil
	}
	b := newBook()
	b.outer = outer
	return context.WithValue(ctx, bookKey{}, b), b.keep
}

// keep adds to the parts of the scope what their parts in b have counted.
func (b *Book) keep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.parts {
		p.mu.Lock()
		seen, found := p.seen, p.found
		p.seen, p.found = map[Short]int64{}, 0
		p.mu.Unlock()
		p.outer.add(seen, found)
	}
}

func (p *Part) add(seen map[Short]int64, found int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found += found; len(p.seen) == 0 {
		p.seen = seen // as after the first attempt, mostly
		return
	}
	for content, n := range seen {
		p.seen[content] += n
	}
}
