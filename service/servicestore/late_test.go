package servicestore_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/headrace/headrace/internal/pipenet"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/grpcserve"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/throttle"
)

// stopped is a listener of a server that can be stopped: what clients send meanwhile arrives when it continues. It reads
// that a call was cancelled only after it has carried it out.
type stopped struct {
	net.Listener

	runs atomic.Pointer[chan struct{}] // closed while the server runs
}

// newStopped returns the listener of a server that runs.
func newStopped(l net.Listener) *stopped {
	s := &stopped{Listener: l}
	s.stop()()
	return s
}

// stop stops the server until the returned function is called.
func (s *stopped) stop() (resume func()) {
	runs := make(chan struct{})
	s.runs.Store(&runs)
	return func() { close(runs) }
}

func (s *stopped) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, to := net.Pipe()
	go s.pass(c, to)
	return &piped{c, from}, nil
}

// pass passes on the frames of c, without those that cancel a call of a time when the server was stopped.
func (s *stopped) pass(c net.Conn, to io.WriteCloser) {
	defer func() { _ = to.Close() }()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	if _, err := to.Write(preface); err != nil {
		return
	}
	late := map[uint32]bool{} // streams
	for {
		var head [9]byte // the length, the type, flags and the stream
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		frame := make([]byte, len(head)+int(binary.BigEndian.Uint32(head[:4])>>8))
		if _, err := io.ReadFull(c, frame[copy(frame, head[:]):]); err != nil {
			return
		}
		id := binary.BigEndian.Uint32(head[5:])
		select {
		case <-*s.runs.Load():
		default:
			late[id] = true
			<-*s.runs.Load()
		}
		if http2.FrameType(head[3]) == http2.FrameRSTStream && late[id] {
			continue
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

// piped is a connection of which the server reads another end.
type piped struct {
	net.Conn

	from net.Conn
}

func (p *piped) Read(b []byte) (int, error) { return p.from.Read(b) }

func (p *piped) SetReadDeadline(t time.Time) error { return p.from.SetReadDeadline(t) }

func (p *piped) SetDeadline(t time.Time) error {
	_ = p.from.SetReadDeadline(t)
	return p.Conn.SetDeadline(t)
}

func (p *piped) Close() error {
	_ = p.from.Close()
	return p.Conn.Close()
}

// A server that was stopped carries out late takes when it continues, after their callers have gone. They are given back,
// and do not keep slots until their leases lapse.
func TestTakesOfAStoppedServerAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 100 * time.Millisecond
		began := make(chan time.Duration, 10) // takes, with the time that they have
		o := &odd{MemoryStore: quota.NewMemoryStore(nil)}
		o.take = func(ctx context.Context, r quota.Request) (quota.Grant, error) {
			end, _ := ctx.Deadline()
			g, err := o.MemoryStore.Take(context.WithoutCancel(ctx), r)
			began <- time.Until(end)
			return g, err
		}
		l := pipenet.Listen()
		server := newStopped(l)
		serve(t, server, grpcserve.Config{Store: o})
		s := openIn(t, l, servicestore.WithTimeout(timeout))
		_, err := s.Look(t.Context(), "a")
		require.NoError(t, err)
		r := request("a", throttle.Limits{Concurrency: 10, Windows: hourly(10).Windows})
		direct := r
		direct.Demands = []quota.Demand{{Key: "service/store/a", Limits: r.Demands[0].Limits}}
		kept, err := o.MemoryStore.Take(t.Context(), direct)
		require.NoError(t, err)

		resume := server.stop()
		_, err = s.Take(t.Context(), r)
		require.EqualError(t, err, "servicestore: unavailable: no answer in time")
		_, err = s.Take(t.Context(), r)
		require.EqualError(t, err, "servicestore: unavailable: no answer in time", "it does not wait behind the first")
		resume()
		for range 2 {
			assert.LessOrEqual(t, <-began, timeout, "the server does not try for longer than the callers waited")
		}
		synctest.Wait()
		state, err := o.Look(t.Context(), "service/store/a")
		require.NoError(t, err)
		assert.Equal(t, 1, state.InFlight)
		assert.EqualValues(t, 1, state.Uses[0].Spent)
		assert.Zero(t, servicestore.Overdue(s))
		require.NoError(t, o.MemoryStore.End(t.Context(), kept.Ticket, nil), "it still has its slot")
	})
}

// However long the server is stopped, the requests that wait for an answer are bounded.
func TestOverdueRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		server := newStopped(l)
		serve(t, server, grpcserve.Config{Store: quota.NewMemoryStore(nil)})
		s := openIn(t, l, servicestore.WithTimeout(10*time.Millisecond))
		_, err := s.Look(t.Context(), "a")
		require.NoError(t, err)
		defer server.stop()()
		for range 2 * servicestore.MostLate {
			_, err := s.Take(t.Context(), request("a", hourly(1)))
			require.ErrorAs(t, err, new(*servicestore.UnavailableError))
		}
		assert.Equal(t, servicestore.MostLate, servicestore.Overdue(s))
	})
}

// Calls that are late before they can be sent are not sent.
func TestLateCallsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "http://127.0.0.1:1", servicestore.WithTimeout(time.Second))
		var sent atomic.Int64
		servicestore.Unanswered(s, func() { sent.Add(1) })
		for range 20 {
			go func() {
				_, err := s.Take(t.Context(), request("a", hourly(1)))
				assert.ErrorAs(t, err, new(*servicestore.UnavailableError))
			}()
			synctest.Wait()
		}
		assert.EqualValues(t, 2, sent.Load(), "the others wait for an answer")
		assert.Equal(t, 18, servicestore.Waiting(s))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualValues(t, 2, sent.Load())
		assert.Zero(t, servicestore.Waiting(s))
		assert.Equal(t, 2, servicestore.Overdue(s))
	})
}

// Callers that wait for a request to be sent do not wait forever if the one before is overdue while the store closes.
func TestCloseDuringOverdueRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "http://127.0.0.1:1", servicestore.WithTimeout(time.Second))
		servicestore.Unanswered(s, func() {})
		var failed atomic.Int64
		for range 20 {
			go func() {
				_, err := s.Take(t.Context(), request("a", hourly(1)))
				assert.Error(t, err)
				failed.Add(1)
			}()
			synctest.Wait()
		}
		servicestore.SetClosed(s, true)
		time.Sleep(time.Second)
		synctest.Wait()
		servicestore.SetClosed(s, false)
		assert.EqualValues(t, 20, failed.Load())
		assert.Zero(t, servicestore.Waiting(s))
	})
}
