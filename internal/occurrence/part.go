package occurrence

import (
	"context"
	"sync"
)

// Part is what a scope knows of one node of a run. It is safe for concurrent use.
type Part struct {
	name  Name
	book  *Book
	outer *Part  // nil, or the part that an attempt goes on from
	lone  bool   // there is no scope around the run
	of    string // the code of the batch
	busy  bool   // guarded by the book's lock
	last  func() // guarded by the book's lock

	mu      sync.Mutex // guards everything below
	seen    map[Short]int64
	earlier int64 // records that there were when the scope began
	found   int64 // of them
	output  *Output
	broken  bool
	turns   map[string]*turn
}

// Output is how far the output of a part has come in a scope, where that is not
// in the journal since the output lacks records from before.
type Output struct {
	Mark  string // where it ends; empty: the journal knows
	Lacks int64  // records from before that are not in it
}

// Request is what Open opens.
type Request struct {
	Name    Name
	Earlier int64   // how many records the part has now, of which the first Open takes note
	Of      string  // the code of the batch: one for all runs of the part in the scope
	Shared  bool    // several runs may have the part at a time
	Claims  *Claims // those of the scope
}

// Open returns a part of the scope of ctx. Close it.
func Open(ctx context.Context, r Request) (*Part, error) {
	b, scoped := ctx.Value(bookKey{}).(*Book)
	if !scoped {
		b = &Book{claims: r.Claims}
	}
	return b.open(r, !scoped)
}

func (b *Book) open(r Request, lone bool) (_ *Part, err error) {
	var outer *Part
	if b.outer != nil {
		if outer, err = b.outer.open(r, false); err != nil {
			return nil, err
		}
		r.Earlier = outer.earlier
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.parts[r.Name]
	if p == nil {
		p = &Part{
			name: r.Name, book: b, outer: outer, lone: lone, of: r.Of, earlier: r.Earlier,
			seen: map[Short]int64{}, turns: map[string]*turn{},
		}
		if b.parts == nil {
			b.parts = map[Name]*Part{}
		}
		b.parts[r.Name] = p
	}
	switch {
	case p.of != r.Of:
		return nil, &MixedError{Name: r.Name, Of: p.of, By: r.Of}
	case p.busy && !r.Shared:
		return nil, &BusyError{r.Name}
	}
	p.busy = true
	return p, nil
}

// Close lets the part be opened again. last is called at the end of the scope,
// unless another run goes on with it.
func (p *Part) Close(last func()) {
	p.book.mu.Lock()
	if p.busy = false; p.outer == nil {
		p.last = last
	}
	p.book.mu.Unlock()
	if p.outer != nil {
		p.outer.Close(last)
	}
	if p.lone {
		p.book.end()
	}
}

// Next returns how often content was there before. A content takes about 40 bytes.
func (p *Part) Next(content string) int64 {
	of := Of(content)
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.seen[of]
	p.seen[of] = n + 1
	return n + p.outer.times(of)
}

// times is how often content was there so far.
func (p *Part) times(content Short) int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[content] + p.outer.times(content)
}

// Earlier is how many records there were when the scope began.
func (p *Part) Earlier() int64 { return p.earlier }

// Found notes that one of them has its item.
func (p *Part) Found() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found++
}

// Left is how many of them have none yet.
func (p *Part) Left() int64 { return max(0, p.earlier-p.matched()) } // another process may have added some meanwhile

func (p *Part) matched() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.found + p.outer.matched()
}

// root is the part of the scope that attempts go on from.
func (p *Part) root() *Part {
	for p.outer != nil {
		p = p.outer
	}
	return p
}

// Output returns the last of SetOutput: that of this attempt, or else of what it goes on from.
func (p *Part) Output() (o Output) {
	for ; p != nil; p = p.outer {
		p.mu.Lock()
		at := p.output
		p.mu.Unlock()
		if at != nil {
			return *at
		}
	}
	return o
}

// SetOutput notes how far the output has come. The zero Output is for one that the
// journal knows: then it is also forgotten what attempts went on from.
func (p *Part) SetOutput(o Output) {
	for known := o == (Output{}); p != nil; p = p.outer {
		p.mu.Lock()
		p.output = &o
		p.mu.Unlock()
		if !known {
			return
		}
	}
}

// Break notes that the output has lost lines of this scope, which only another
// process can write again.
func (p *Part) Break() {
	p = p.root()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
}

// Broken reports whether Break was called.
func (p *Part) Broken() bool {
	p = p.root()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// Counted reports whether the scope has met items of the part before this attempt or run.
func (p *Part) Counted() bool {
	for ; p != nil; p = p.outer {
		p.mu.Lock()
		n := len(p.seen)
		p.mu.Unlock()
		if n > 0 {
			return true
		}
	}
	return false
}
