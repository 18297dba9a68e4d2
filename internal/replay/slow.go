package replay

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/panics"
)

// MostReading bounds how long a response is held back to be judged.
const MostReading = 2 * time.Second

// patience is how long a body has to end its Read after it was closed.
const patience = time.Second

// Keeper reads the beginnings of bodies. The zero Keeper is ready to use, by any
// number of goroutines.
type Keeper struct {
	idle   sync.Pool // of *beginning: a pool for all would carry channels from one synctest bubble to another
	alarms clock.Alarms
}

// Keep reads up to MaxAnswer of body, and closes it if it has ended. length is its
// declared length; negative means unknown. Keep stops early after d, or when done
// returns true, which receives each piece and may be nil. The Head is then what
// has arrived, and the Answer reads on from there. A panic of body is the error of
// the Answer, which is stored in into, or in a new one if that is nil.
func (k *Keeper) Keep(into *Answer, body io.ReadCloser, length int64, d time.Duration, done func(fresh []byte) bool) *Answer {
	if into == nil {
		into = new(Answer)
	}
	r, ok := k.idle.Get().(*beginning)
	if !ok {
		r = &beginning{events: make(chan beginningEvent, 2)}
		r.run = r.read
		r.alarm = &clock.Alarm{To: r}
	}
	size := int64(bytes.MinRead)
	if length >= 0 {
		size = min(length, MaxAnswer) + 1 // for the end to be seen
	}
	r.body, r.done, r.head = body, done, make([]byte, 0, size)
	k.alarms.Set(r.alarm, d)
	go r.run()
	if <-r.events == late {
		*into = Answer{head: r.leave(), rest: r}
		return into
	}
	if !k.alarms.Clear(r.alarm) {
		<-r.events // it is about to be late
	}
	*into = Answer{head: r.head}
	if r.err == nil {
		into.rest = body
	} else {
		_ = body.Close()     // it has ended
		if r.err != io.EOF { //nolint:errorlint // readers return it as it is
			into.err = r.err
		}
	}
	*r = beginning{events: r.events, alarm: r.alarm, run: r.run}
	k.idle.Put(r)
	return into
}

// KeepFor is Keep for a body that may not arrive: after d it is closed, and the
// Answer is what was read by then, with io.ErrUnexpectedEOF at its end.
func (k *Keeper) KeepFor(body io.ReadCloser, length int64, d time.Duration) *Answer {
	a := k.Keep(nil, body, length, d, nil)
	r, slow := a.rest.(*beginning)
	if !slow {
		return a
	}
	_ = body.Close() // which ends the Read
	k.alarms.Set(r.alarm, patience)
	defer k.alarms.Clear(r.alarm)
	if <-r.events == late {
		return &Answer{head: a.head, err: io.ErrUnexpectedEOF}
	}
	a.head, a.rest = append(a.head, r.last...), nil
	if r.err != io.EOF { //nolint:errorlint // readers return it as it is
		a.err = io.ErrUnexpectedEOF
	}
	return a
}

var errReadExit = errors.New("replay: Read of the response's body ended its goroutine")

// beginning is a body with a first part that is read on a goroutine of its own. If that
// takes too long, beginning is the rest of the body.
type beginning struct {
	body   io.ReadCloser
	done   func(fresh []byte) bool
	events chan beginningEvent // one channel: a receive costs half of a select
	alarm  *clock.Alarm
	run    func() // read: a go statement allocates nothing for it

	mu   sync.Mutex // guards head and left until it came
	head []byte
	left bool // the head was passed on: what is read from now on is last

	last []byte
	err  error // behind the head, or behind last
	had  bool  // the caller has received that it came
}

type beginningEvent uint8

const (
	came beginningEvent = iota // the goroutine has ended
	late                       // the alarm has gone off
)

// Ring is called by alarm.
func (r *beginning) Ring() { r.events <- late }

// read fills the head.
func (r *beginning) read() {
	defer func() { r.events <- came }()
	for more := true; more; {
		p := r.room()
		n, err := r.piece(p)
		more = r.took(p[:max(0, min(n, len(p)))], err)
	}
}

// room is where the next piece is read into. Only the goroutine of read changes the head.
func (r *beginning) room() []byte {
	if len(r.head) == cap(r.head) {
		r.mu.Lock()
		r.head = append(r.head, 0)[:len(r.head)]
		r.mu.Unlock()
	}
	return r.head[len(r.head):min(cap(r.head), MaxAnswer)]
}

func (r *beginning) piece(p []byte) (n int, err error) {
	r.err = errReadExit
	defer panics.Catch(&err)
	n, err = r.body.Read(p)
	r.err = nil
	return n, err
}

// took adds what was read, and reports whether there is more to read.
func (r *beginning) took(fresh []byte, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if r.left {
		r.last = fresh
		return false
	}
	r.head = r.head[:len(r.head)+len(fresh)]
	return err == nil && len(r.head) < MaxAnswer && (r.done == nil || !r.done(fresh))
}

// leave returns what has come.
func (r *beginning) leave() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	return slices.Clip(r.head)
}

// Read implements io.Reader.
func (r *beginning) Read(p []byte) (n int, err error) {
	if !r.had {
		<-r.events
		r.had = true
	}
	n = copy(p, r.last)
	r.last = r.last[n:]
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case r.err != nil:
		return 0, r.err
	}
	return r.body.Read(p)
}

// Close implements io.Closer. It ends a Read.
func (r *beginning) Close() error { return r.body.Close() }
