package group

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// beat is how often each side of a connection sends a sign of life.
	beat = 250 * time.Millisecond
	// leaderSilence is how long a member waits for a sign of life of the leader.
	leaderSilence = 6 * beat
	// memberSilence is the same for a member. What it holds is freed then.
	memberSilence = 12 * beat
	// helloTimeout bounds the first exchange of a connection.
	helloTimeout = time.Second
	// mostUnsent bounds what waits for a side that does not read, in bytes.
	mostUnsent = 8 << 20
)

var (
	errSilent = errors.New("group: the connection timed out")
	errUnread = errors.New("group: the peer does not read")
)

// link is one end of a connection: what is sent is written by a goroutine of its
// own, all that is ready at once and without waiting for more.
type link struct {
	conn   net.Conn
	at     string // the address of the leader; empty: it is on this host
	most   int    // bytes of a frame that is read
	unsent int    // bytes that wait for the other side, at most
	alone  bool   // what admits the calls is in this process, and has no other members
	read   *bufio.Reader
	wake   chan struct{} // holds one
	heard  atomic.Bool   // something was read since the last beat
	buffer []byte

	mu      sync.Mutex // guards what follows
	out     []byte
	carried int   // bytes about calls that were in flight before
	cause   error // why it is broken; nil: it is not
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, most: mostFrame, unsent: mostUnsent, read: bufio.NewReaderSize(conn, 1<<16), wake: make(chan struct{}, 1)}
}

// send queues f. It does not wait. What is sent to a broken link is lost.
func (l *link) send(f *frame) {
	l.mu.Lock()
	if l.cause != nil {
		l.mu.Unlock()
		return
	}
	before := len(l.out)
	l.out = f.append(l.out)
	if f.kind == kindCarry { // all of them have to be sent at once, and there are no more than calls in flight
		l.carried += len(l.out) - before
	}
	full := len(l.out) > l.unsent+l.carried
	l.mu.Unlock()
	if full {
		l.fail(errUnread)
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// sendJSON is send with v as the data.
func (l *link) sendJSON(f frame, v any) {
	f.data, _ = json.Marshal(v) //nolint:errchkjson // they are ours, and tested
	l.send(&f)
}

// fail ends the link because of err. The first reason counts.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = err
	}
	l.mu.Unlock()
	_ = l.conn.Close() // which ends both goroutines
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// next reads a frame. Its data are valid until the next call.
func (l *link) next(f *frame) error {
	var head [4]byte
	if _, err := io.ReadFull(l.read, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(l.most) {
		return fmt.Errorf("%w of %d bytes", errFrame, n)
	}
	if int(n) > cap(l.buffer) {
		l.buffer = make([]byte, n)
	}
	b := l.buffer[:n]
	if _, err := io.ReadFull(l.read, b); err != nil {
		return err
	}
	*f = frame{}
	return f.parse(b)
}

// run passes what is read to handle, until that fails or the link is broken, and
// returns why. A side from which nothing arrives for silence is given up.
func (l *link) run(silence time.Duration, handle func(*frame) error) error {
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() { l.write(stop, silence) })
	var f frame
	for {
		err := l.next(&f)
		if err == nil {
			l.heard.Store(true)
			err = handle(&f)
		}
		if err != nil {
			l.fail(err)
			break
		}
	}
	close(stop)
	wg.Wait()
	return l.reason()
}

func (l *link) write(stop <-chan struct{}, silence time.Duration) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var spare []byte
	silent := time.Duration(0)
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			if silent += beat; l.heard.Swap(false) {
				silent = 0
			}
			if silent >= silence {
				l.fail(errSilent)
				return
			}
			l.send(&frame{kind: kindPing})
		case <-l.wake:
			l.mu.Lock()
			l.out, spare, l.carried = spare[:0], l.out, 0
			l.mu.Unlock()
			left := silence - silent
			if l.heard.Load() {
				left = silence
			}
			_ = l.conn.SetWriteDeadline(time.Now().Add(left)) // Write fails if this does
			if _, err := l.conn.Write(spare); err != nil {
				if isTimeout(err) { // nor does it read
					err = errSilent
				}
				l.fail(err)
				return
			}
		}
	}
}

// hello is the first frame of each side.
type hello struct {
	Version int `json:"version"`
	PID     int `json:"pid"`

	Leads bool `json:"leads,omitempty"` // the member is part of the leader, and ends with it
}

// greet writes ours and reads the other side's, within helloTimeout.
func (l *link) greet(own hello, first bool) (other hello, err error) {
	if err := l.conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return other, err
	}
	write := func() error {
		f := frame{kind: kindHello}
		f.data, _ = json.Marshal(own) //nolint:errchkjson // it is ours
		_, err := l.conn.Write(f.append(nil))
		return err
	}
	if first {
		err = write()
	}
	var f frame
	if err == nil {
		err = l.next(&f)
	}
	if err == nil && f.kind != kindHello {
		err = fmt.Errorf("%w: no hello", errFrame)
	}
	if err == nil {
		err = json.Unmarshal(f.data, &other)
	}
	if err == nil && !first {
		err = write()
	}
	if err == nil && other.Version != own.Version {
		err = fmt.Errorf("group: process %d uses version %d of the protocol, and this one version %d: run the same version of headrace in both",
			other.PID, other.Version, own.Version)
	}
	if err == nil {
		err = l.conn.SetDeadline(time.Time{})
	}
	return other, err
}
