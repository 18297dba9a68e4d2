package occurrence

import (
	"context"
	"sync"
)

// Part is what a scope knows of one node of a run. It is safe for concurrent use.
type Part struct {
	name Name
	book *Book
	lone bool   // there is no scope around the run
	busy bool   // guarded by the book's lock
	last func() // guarded by the book's lock

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
		b = newBook()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.parts[name]
	if p == nil {
		p = &Part{name: name, book: b, lone: !scoped, earlier: earlier, seen: map[Short]int64{}, turns: map[string]*turn{}}
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
	p.busy, p.last = false, last
	p.book.mu.Unlock()
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
	return n
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
func (p *Part) Left() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.earlier-p.found) // another process may have added some meanwhile
}

// Output is the last of SetOutput: where the output of the run before in this
// scope has ended, if it is to be gone on with.
func (p *Part) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output
}

// SetOutput sets it.
func (p *Part) SetOutput(mark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output = mark
}
