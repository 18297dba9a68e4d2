package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// version is that of the protocol. Both ends of a connection have the same one.
const version = 1

// kind is what a frame is about.
type kind uint8

const (
	kindHello    kind = iota + 1 // the first of each side, in JSON
	kindPing                     // answered by nothing: both sides send it
	kindOpen                     // a member uses a key, in JSON
	kindCarry                    // a call that is in flight already
	kindCarried                  // there are no more of those
	kindAsk                      // for a call
	kindWithdraw                 // what was asked for is not needed any more
	kindEnd                      // of a call
	kindMeters                   // the quota that a response has declared before the end
	kindSignal                   // a 429 of a guard further in
	kindRestore                  // what an earlier run has saved, in JSON
	kindReopen                   // a closed key
	kindGrant                    // the leader admits a call
	kindRefuse                   // a call that does not wait
	kindClosed                   // the key is closed, in JSON
	kindState                    // what the leader has learned, in JSON
	kindEvent                    // what the leader has decided, in JSON
	kindReset                    // what was learned, and a closed key
	kinds
)

// Bounds of what the other side may send.
const (
	mostFrame = 1 << 20 // bytes
	mostText  = 512     // bytes of a source or an error
)

// frame is one message. Which fields are used depends on its kind.
type frame struct {
	kind     kind
	key      uint64 // the member's number of the key
	id       int64  // the member's number of the call
	once     bool   // the call does not wait
	cost     throttle.Cost
	wait     time.Duration // the age of a call, or a RetryAfter
	feedback adaptive.Feedback
	data     []byte // JSON
}

var errFrame = errors.New("group: malformed frame")

// append adds f to b, with its length before it.
func (f *frame) append(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, byte(f.kind))
	b = binary.AppendUvarint(b, f.key)
	b = binary.AppendVarint(b, f.id)
	switch f.kind {
	case kindAsk:
		b = append(b, flag(f.once, 1))
		b = appendCost(b, &f.cost)
	case kindCarry:
		b = appendCost(b, &f.cost)
		b = binary.AppendVarint(b, int64(f.wait))
	case kindRefuse:
		b = binary.AppendVarint(b, int64(f.wait))
	case kindSignal:
		b = binary.AppendVarint(b, int64(f.wait))
		b = appendFeedback(b, &f.feedback)
	case kindEnd, kindMeters:
		b = appendFeedback(b, &f.feedback)
	case kindHello, kindOpen, kindRestore, kindClosed, kindState, kindEvent:
		b = append(b, f.data...)
	case kindPing, kindCarried, kindWithdraw, kindReopen, kindReset, kindGrant, kinds:
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4)) //nolint:gosec // it is bounded
	return b
}

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

func appendCost(b []byte, c *throttle.Cost) []byte {
	for _, n := range [...]int64{c.Requests, c.Tokens, c.Input, c.Output, c.Points} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func appendFeedback(b []byte, f *adaptive.Feedback) []byte {
	b = append(b, byte(f.Verdict), byte(f.Kind), flag(f.SlowDown, 1)|flag(f.Final, 2))
	b = binary.AppendVarint(b, int64(f.RetryAfter))
	b = appendCost(b, &f.Used)
	known := byte(0)
	for u := range f.Meters {
		known |= flag(f.Meters[u].Known, 1<<u)
	}
	b = append(b, known)
	for u := range f.Meters {
		if m := &f.Meters[u]; m.Known {
			b = binary.AppendVarint(b, m.Limit)
			b = binary.AppendVarint(b, m.Remaining)
			b = binary.AppendVarint(b, int64(m.Reset))
		}
	}
	b = appendText(b, f.Source)
	text := ""
	if f.Err != nil {
		text = textOf(f.Err)
	}
	return appendText(b, text)
}

func appendText(b []byte, s string) []byte {
	s = bounded(s)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// textOf returns the text of err. Its method is user code.
func textOf(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return err.Error()
}

// remoteError is an error of which only the text is known here.
type remoteError string

func (e remoteError) Error() string { return string(e) }

// parse reads what append has written after the length. data is part of b.
func (f *frame) parse(b []byte) error {
	r := reader{rest: b}
	f.kind = kind(r.byte())
	f.key, f.id = r.uvarint(), r.varint()
	switch f.kind {
	case kindAsk:
		f.once = r.byte() != 0
		r.cost(&f.cost)
	case kindCarry:
		r.cost(&f.cost)
		f.wait = time.Duration(r.varint())
	case kindRefuse:
		f.wait = time.Duration(r.varint())
	case kindSignal:
		f.wait = time.Duration(r.varint())
		r.feedback(&f.feedback)
	case kindEnd, kindMeters:
		r.feedback(&f.feedback)
	case kindHello, kindOpen, kindRestore, kindClosed, kindState, kindEvent:
		f.data, r.rest = r.rest, nil
	case kindPing, kindCarried, kindWithdraw, kindReopen, kindReset, kindGrant:
	default:
		return fmt.Errorf("%w: kind %d", errFrame, f.kind)
	}
	if r.bad || len(r.rest) > 0 {
		return fmt.Errorf("%w of kind %d", errFrame, f.kind)
	}
	return nil
}

// reader takes values from the front of rest.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() (b byte) {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b, r.rest = r.rest[0], r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	r.skip(size)
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.rest)
	r.skip(size)
	return n
}

func (r *reader) skip(size int) {
	if size <= 0 {
		r.bad, r.rest = true, nil
		return
	}
	r.rest = r.rest[size:]
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > mostText || n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) cost(c *throttle.Cost) {
	for _, n := range [...]*int64{&c.Requests, &c.Tokens, &c.Input, &c.Output, &c.Points} {
		*n = r.varint()
		r.bad = r.bad || *n < 0 || *n > throttle.MaxAmount
	}
}

func (r *reader) feedback(f *adaptive.Feedback) {
	f.Verdict, f.Kind = adaptive.Verdict(r.byte()), adaptive.Kind(r.byte())
	r.bad = r.bad || f.Verdict > adaptive.Unsent || f.Kind > adaptive.KindOverload
	flags := r.byte()
	f.SlowDown, f.Final = flags&1 != 0, flags&2 != 0
	f.RetryAfter = time.Duration(r.varint())
	r.bad = r.bad || f.RetryAfter < 0
	r.cost(&f.Used)
	known := r.byte()
	for u := range f.Meters {
		if known&(1<<u) != 0 {
			f.Meters[u] = adaptive.Meter{Known: true, Limit: r.varint(), Remaining: r.varint(), Reset: time.Duration(r.varint())}
		}
	}
	f.Source = r.text()
	if text := r.text(); text != "" {
		f.Err = remoteError(text)
	}
}
