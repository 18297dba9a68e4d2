// Package split serves HTTP and gRPC on one listener. gRPC has a transport of its own, which takes a third less
// processor time than gRPC through net/http.
//
// A connection is gRPC's if its first request has the content type of gRPC. Therefore the first headers are read
// before either server sees the connection. Clients may wait for the settings of the server before they send
// headers, so that it sends empty ones; their acknowledgement is taken out again.
package split

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Config bounds what happens before a connection has a server. The zero values are replaced by the defaults.
type Config struct {
	// Timeout is how long a client may take for the TLS handshake and its first bytes, and its server to accept it;
	// 0 means 10 s. A connection of HTTP/2 without a request for that long becomes one of gRPC.
	Timeout time.Duration
	// Most is how many connections may be in this state at a time; 0 means 1,024. More are closed.
	Most int
}

// Splitter divides the connections of a listener.
type Splitter struct {
	config Config
	from   net.Listener
	http   listener
	grpc   listener
	room   chan struct{}
	life   context.Context //nolint:containedctx // it ends with Close
	end    context.CancelFunc
	wg     sync.WaitGroup
	closed sync.Once
	err    error // of Close
}

// New divides the connections of l, which may be one of TLS with h2 and http/1.1 as its NextProtos. Call Serve.
func New(l net.Listener, c Config) *Splitter {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Most == 0 {
		c.Most = 1024
	}
	s := &Splitter{config: c, from: l, room: make(chan struct{}, c.Most)}
	s.life, s.end = context.WithCancel(context.Background())
	s.http = listener{s, make(chan net.Conn)}
	s.grpc = listener{s, make(chan net.Conn)}
	return s
}

// HTTP returns the listener of connections for a server of HTTP/1 and of HTTP/2 without TLS, which it has to allow:
// TLS ends before. Connections of HTTP/1.1 through TLS are a *tls.Conn.
func (s *Splitter) HTTP() net.Listener { return &s.http }

// GRPC returns the listener of connections for a server of gRPC.
func (s *Splitter) GRPC() net.Listener { return &s.grpc }

// Serve accepts connections until Close or an error of the listener.
func (s *Splitter) Serve() error {
	defer s.wg.Wait()
	defer s.end()
	pause := 5 * time.Millisecond
	for {
		c, err := s.from.Accept()
		switch {
		case s.life.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case err != nil:
			if t, ok := errors.AsType[interface {
				error
				Temporary() bool
			}](err); !ok || !t.Temporary() { // too many open files, as in net/http
				return err
			}
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-s.life.Done():
				timer.Stop()
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		select {
		case s.room <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-s.room }()
				s.route(c)
			})
		default: // as many as these have not said anything
			_ = c.Close()
		}
	}
}

// Close closes the listener and the connections that have no server yet. It may be called twice.
func (s *Splitter) Close() error {
	s.closed.Do(func() {
		s.end()
		s.err = s.from.Close()
	})
	return s.err
}

// route hands a connection to its server.
func (s *Splitter) route(from net.Conn) {
	stop := context.AfterFunc(s.life, func() { _ = from.Close() })
	_ = from.SetDeadline(time.Now().Add(s.config.Timeout))
	c, isGRPC, err := s.look(from)
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if !stop() || err != nil {
		_ = c.Close()
		return
	}
	to := s.http.conns
	if isGRPC {
		to = s.grpc.conns
	}
	timer := time.NewTimer(s.config.Timeout) // a server that has as many connections as it accepts must not keep others out
	defer timer.Stop()
	select {
	case to <- c:
	case <-timer.C:
		_ = c.Close()
	case <-s.life.Done():
		_ = c.Close()
	}
}

// look reads as much as it takes, and returns a connection that begins with it again.
func (s *Splitter) look(c net.Conn) (_ net.Conn, isGRPC bool, err error) {
	if secure, ok := c.(*tls.Conn); ok {
		if err := secure.HandshakeContext(s.life); err != nil {
			return c, false, err
		}
		if secure.ConnectionState().NegotiatedProtocol != "h2" {
			return c, false, nil
		}
	}
	p := &peeked{Conn: c}
	isHTTP2, err := p.preface()
	if err != nil || !isHTTP2 {
		return p, false, err
	}
	content, err := p.contentType()
	if isTimeout(err) {
		content, err = grpcContent, nil
	}
	isGRPC = strings.HasPrefix(content, grpcContent)
	if !isGRPC { // the server of gRPC ignores acknowledgements
		p.filter = newAckFilter()
	}
	p.rewind()
	return p, isGRPC, err
}

const grpcContent = "application/grpc"

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// contentType reads frames up to the headers of the first request.
func (p *peeked) contentType() (content string, err error) {
	const maxFrame, maxFrames = 16 << 10, 32 // and maxSeen bytes
	if err := http2.NewFramer(p.Conn, nil).WriteSettings(); err != nil {
		return "", err
	}
	f := http2.NewFramer(nil, p)
	f.SetMaxReadFrameSize(maxFrame)
	f.MaxHeaderListSize = maxFrame
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for range maxFrames {
		frame, err := f.ReadFrame()
		if err != nil {
			return "", err
		}
		if h, ok := frame.(*http2.MetaHeadersFrame); ok {
			for _, field := range h.RegularFields() {
				if field.Name == "content-type" {
					return field.Value, nil
				}
			}
			return "", nil
		}
	}
	return "", errFrames
}

var errFrames = errors.New("split: too many frames before a request")

// listener is one side.
type listener struct {
	of    *Splitter
	conns chan net.Conn
}

// Accept implements net.Listener, as do the others.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.of.life.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the splitter: one side is of no use without the other.
func (l *listener) Close() error { return l.of.Close() }

func (l *listener) Addr() net.Addr { return l.of.from.Addr() }
