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
	busy  bool   // guarded by the book's lock
	last  func() // guarded by the book's lock

	mu      sync.Mutex // guards everything below
	seen    map[Short]int64
	earlier int64 // records that there were when the scope began
	found   int64 // of them
	output  string
	turns   map[string]*turn
}

// Open returns part name of the scope of ctx. earlier is how many records it
// has now, of which the first Open takes note. A part that is not shared is for
// one run at a time. Close it.
func Open(ctx context.Context, name Name, earlier int64, shared bool) (*Part, error) {
	b, scoped := ctx.Value(bookKey{}).(*Book)
	if !scoped {
		b = new(Book)
	}
	return b.open(name, earlier, shared, !scoped)
}

func (b *Book) open(name Name, earlier int64, shared, lone bool) (_ *Part, err error) {
	var outer *Part
	if b.outer != nil {
		if outer, err = b.outer.open(name, earlier, shared, false); err != nil {
			return nil, err
		}
		earlier = outer.earlier
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.parts[name]
	if p == nil {
		p = &Part{
			name: name, book: b, outer: outer, lone: lone, earlier: earlier,
			seen: map[Short]int64{}, turns: map[string]*turn{},
		}
		if b.parts == nil {
			b.parts = map[Name]*Part{}
		}
		b.parts[name] = p
	}
	if p.busy && !shared {
		return nil, &BusyError{name}
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

// root is the part that what does not depend on attempts is kept of.
func (p *Part) root() *Part {
	for p.outer != nil {
		p = p.outer
	}
	return p
}

// Output is the last of SetOutput: where the output of the run before in this
// scope has ended, if it is to be gone on with.
func (p *Part) Output() string {
	p = p.root()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output
}

// SetOutput sets it.
func (p *Part) SetOutput(mark string) {
	p = p.root()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output = mark
}
