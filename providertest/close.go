package providertest

import (
	"net"
	"net/http"
)

// Close stops the server: it closes the port and its connections, ends the calls in flight, which are
// Aborted, and waits for all handlers, Reply and Fault included. From then on a mounted Server.Handler
// answers 503 and Server.Transport fails with http.ErrServerClosed; neither is recorded. The ledger
// stays readable. Close may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.closing)
		// Connections and a listener that are gone already are as good as closed.
		_ = s.http.Close()
		_ = s.listener.Close()
		s.client.CloseIdleConnections()
	}
	s.wg.Wait()
}

// enter admits a handler unless the server is closed; it must be paired with
// wg.Done.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// track counts connections, so that Close can wait for their goroutines. One that
// was accepted while Close was closing all others is closed here.
func (s *Server) track(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.wg.Add(1) // under the accept loop's own count
		if s.isClosed() {
			_ = conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.wg.Done()
	case http.StateActive, http.StateIdle:
	}
}
