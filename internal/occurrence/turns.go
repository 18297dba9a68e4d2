package occurrence

// Turns are those that one run has at the contents of a part: one at a time
// works on each. It is safe for concurrent use.
type Turns struct {
	part *Part
	over bool // guarded by the part's lock
}

type turn struct {
	of   *Turns
	over chan struct{} // closed at its end
}

// Turns returns those of another run.
func (p *Part) Turns() *Turns { return &Turns{part: p.root()} }

// Take takes the turn at content, or returns what to wait for before it is
// tried again. After Close there is no turn and nothing to wait for.
func (t *Turns) Take(content string) (wait <-chan struct{}) {
	p := t.part
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.over {
		return closed()
	}
	if busy := p.turns[content]; busy != nil {
		return busy.over
	}
	p.turns[content] = &turn{of: t, over: make(chan struct{})}
	return nil
}

// Give gives the turn at content to the next, if this run has it.
func (t *Turns) Give(content string) {
	t.part.mu.Lock()
	defer t.part.mu.Unlock()
	t.part.giveLocked(t, content)
}

// Close gives up all of them.
func (t *Turns) Close() {
	t.part.mu.Lock()
	defer t.part.mu.Unlock()
	t.over = true
	for content := range t.part.turns {
		t.part.giveLocked(t, content)
	}
}

func (p *Part) giveLocked(t *Turns, content string) {
	if mine := p.turns[content]; mine != nil && mine.of == t {
		close(mine.over)
		delete(p.turns, content)
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
