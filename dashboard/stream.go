package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	mostReaders = 32
	mostFrames  = 8                // that a reader may be late by; then it gets a snapshot
	heartbeat   = 15 * time.Second // between two signs of life
	patience    = 10 * time.Second // for one write
)

// reader is a page that is open.
type reader struct {
	frames chan []byte
	behind bool // it has missed a frame; guarded by Dashboard.mu
}

// sendLocked hands a frame to each reader. It never waits.
func (d *Dashboard) sendLocked(text []byte) {
	for r := range d.readers {
		select {
		case r.frames <- text:
		default:
			r.behind = true
		}
	}
}

// join makes a reader and what it begins with; nil: there are too many. Between the two no frame is sent.
func (d *Dashboard) join() (*reader, []byte) {
	d.recent(time.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.readers) >= mostReaders {
		return nil, nil
	}
	r := &reader{frames: make(chan []byte, mostFrames)}
	d.readers[r] = struct{}{}
	return r, d.snapshotLocked()
}

func (d *Dashboard) leave(r *reader) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.readers, r)
}

// snapshotLocked is the whole state, which may differ from what other readers know. The next frame therefore has all limiters.
func (d *Dashboard) snapshotLocked() []byte {
	for _, t := range d.board.limiters {
		t.sent = nil
	}
	text, err := json.Marshal(d.statusLocked())
	if err != nil {
		return nil
	}
	return slices.Concat([]byte("event: snapshot\ndata: "), text, []byte("\n\n"))
}

// next returns what a reader that has taken a frame is to be sent: if it missed another one, a snapshot.
func (d *Dashboard) next(r *reader, text []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !r.behind {
		return slices.Concat([]byte("event: frame\ndata: "), text, []byte("\n\n"))
	}
	r.behind = false
	for len(r.frames) > 0 {
		<-r.frames
	}
	return d.snapshotLocked()
}

// events streams a snapshot and then frames, at most four a second, until the reader leaves.
func (d *Dashboard) events(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodHead {
		return
	}
	r, text := d.join()
	if r == nil {
		fail(w, http.StatusServiceUnavailable, "too_many_readers", fmt.Sprintf("%d pages are open: close one", mostReaders))
		return
	}
	defer d.leave(r)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // there is nothing more to read
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for last := false; ; {
		_ = out.SetWriteDeadline(time.Now().Add(patience)) // a server that has none has bounds of its own
		if _, err := w.Write(text); err != nil {
			return
		}
		if out.Flush() != nil || last {
			return
		}
		select {
		case one := <-r.frames:
			text = d.next(r, one)
		case <-alive.C:
			text = []byte(": alive\n\n")
		case <-req.Context().Done():
			return
		case <-d.ctx.Done(): // the page keeps showing what it gets last
			text, last = d.final(), true
		}
	}
}

// final is the state at the end.
func (d *Dashboard) final() []byte {
	d.refresh(time.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.snapshotLocked()
}
