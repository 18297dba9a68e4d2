package group

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// HandlerConfig configures a Handler.
type HandlerConfig struct {
	// Election elects one of several replicas. Nil means that this is the only one, and leads.
	Election Election
	// URL is where members reach this replica, such as https://replica-1:8790/v1/group. Other replicas send
	// members there. If it is empty, members ask all replicas of their address.
	URL string
}

// Handler admits the calls of processes on many hosts, which Join it by its URL. With an Election, one of
// several replicas is the leader, and the others answer members with status 503 and the URL of the leader.
// docs/sharing.md describes its bounds and what happens when a replica fails.
//
// The handler does not authenticate members. A member can learn the names of keys, close keys and use up
// limits, so authenticate requests before they reach the handler. Connections are HTTP/1.1 with Upgrade;
// http.Server does not end them with Shutdown, but Close does.
//
// It is safe for concurrent use.
type Handler struct {
	ballot    ballot
	candidate string
	ctx       context.Context //nolint:containedctx // from NewHandler to Close
	end       context.CancelFunc
	wg        sync.WaitGroup
	standing  atomic.Pointer[standing]
}

// standing is where a replica stands.
type standing struct {
	Stats

	leader *leader // nil: it does not lead
}

// NewHandler returns a Handler that takes part in the election, until Close. Problems are joined, each a *fault.FieldError.
func NewHandler(c HandlerConfig) (*Handler, error) {
	problems := invalid.Problems{Owner: "group: NewHandler"}
	if c.Election != nil && invalid.Nil(c.Election) {
		problems.Addf("Election", "it holds a nil pointer: leave it out if there is one replica")
	}
	if c.URL != "" {
		if u, problem := replica(c.URL); problem != "" {
			problems.Addf("URL", "%s", problem)
		} else {
			c.URL = u.String()
		}
	}
	if len(c.URL) > mostText {
		problems.Addf("URL", "it has %d bytes: the maximum is %d", len(c.URL), mostText)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	h := &Handler{ballot: ballot{c.Election, make(chan struct{}, 1)}, candidate: rand.Text() + " " + c.URL}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.standing.Store(&standing{Stats: Stats{Role: Joining, Since: time.Now()}})
	if c.Election == nil {
		h.stand(newServiceLeader(nil), Stats{Role: Leading, Leader: os.Getpid()})
	} else {
		h.wg.Go(h.run)
	}
	return h, nil
}

// ofHost are the bounds for a process on another host.
func ofHost() bounds {
	return bounds{keys: 1 << 10, waiting: 16, inFlight: 1 << 17, held: 1 << 17, frame: 1 << 16, unsent: 4 << 20}
}

// newServiceLeader begins to lead members on other hosts, which may have had another leader before.
func newServiceLeader(saved map[string]kept) *leader {
	const calm = 2 * settling // members that have lost their leader try to come back for so long
	l := &leader{most: ofHost(), calm: calm, open: time.Now().Add(calm), saved: saved, term: &term{}}
	l.term.extend(time.Now().Add(forever / 2))
	return l.begin()
}

// Stats returns the state of this replica. Members are its connections.
func (h *Handler) Stats() Stats {
	s := h.standing.Load()
	stats := s.Stats
	if s.leader != nil {
		s.leader.mu.Lock()
		stats.Members = len(s.leader.sessions)
		s.leader.mu.Unlock()
	}
	return stats
}

// stand notes where the replica stands.
func (h *Handler) stand(l *leader, s Stats) {
	old := h.standing.Load()
	if s.Since = old.Since; s.Role != old.Role || s.Address != old.Address {
		s.Since = time.Now()
	}
	h.standing.Store(&standing{s, l})
}

// Close ends all connections and the lease, so that another replica leads. It may be called twice.
func (h *Handler) Close() {
	h.end()
	h.wg.Wait()
	if l := h.standing.Load().leader; l != nil {
		h.stand(nil, Stats{Role: Joining, Reason: ErrClosed.Error()})
		l.close()
	}
}

// run takes part in the election until Close.
func (h *Handler) run() {
	for h.ctx.Err() == nil {
		asked := time.Now()
		a, err := h.ballot.acquire(h.ctx, h.candidate)
		switch {
		case err != nil:
			h.stand(nil, Stats{Role: Joining, Reason: "the election: " + bounded(textOf(err))})
		case a.token == 0:
			_, at, _ := strings.Cut(a.leader, " ")
			h.stand(nil, Stats{Role: Following, Address: bounded(at)})
		default:
			h.lead(&a, asked)
		}
		rest(h.ctx, lookEvery)
	}
	h.stand(nil, Stats{Role: Joining, Reason: ErrClosed.Error()})
}

// lead leads with a lease that was asked for at asked, until that is lost or the handler is closed.
func (h *Handler) lead(a *lease, asked time.Time) {
	saved, err := recalled(a.saved, time.Now())
	s := Stats{Role: Leading, Leader: os.Getpid()}
	if err != nil {
		s.Reason = err.Error()
	}
	l := newServiceLeader(saved)
	until := asked.Add(leaseFor - leaseMargin)
	l.term.extend(until)
	lapse := time.AfterFunc(time.Until(until), l.drop)
	h.stand(l, s)
	defer func() {
		h.stand(nil, Stats{Role: Joining, Reason: "the lease is lost"})
		lapse.Stop()
		l.close()
		if h.ctx.Err() != nil {
			h.ballot.release(a.token)
		}
	}()
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	news := make(chan []byte)
	l.wg.Go(func() { l.keepAll(news) })
	for {
		var keep []byte
		select {
		case <-h.ctx.Done():
			return
		case <-l.ctx.Done(): // the lease has lapsed
			return
		case <-ticker.C:
		case keep = <-news:
		}
		asked := time.Now()
		held, err := h.ballot.renew(h.ctx, a.token, until, keep)
		switch {
		case err == nil && !held:
			return
		case err == nil && lapse.Reset(time.Until(asked.Add(leaseFor-leaseMargin))):
			until = asked.Add(leaseFor - leaseMargin)
			l.term.extend(until)
		}
	}
}

// ServeHTTP serves one member for as long as it is connected.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.standing.Load()
	switch {
	case r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), protocol) || r.ProtoMajor != 1:
		w.Header().Set("Upgrade", protocol)
		w.Header().Set("Connection", "Upgrade")
		refuse(w, http.StatusUpgradeRequired, codeUpgrade, "this is the group of a service: join it by its URL, over HTTP/1.1", "")
		return
	case s.leader == nil:
		refuse(w, http.StatusServiceUnavailable, codeNotLeader, "this replica does not lead", s.Address)
		return
	case s.leader.full():
		refuse(w, http.StatusServiceUnavailable, codeFull, fmt.Sprintf("the group has %d members", mostMembers), "")
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, codeUpgrade, "a handler in front of the group does not pass on the connection: "+err.Error(), "")
		return
	}
	defer conn.Close() //nolint:errcheck // its member sees for itself
	if buffered.Reader.Buffered() == 0 && conn.SetDeadline(time.Now().Add(helloTimeout)) == nil {
		below := conn
		if secure, ok := conn.(*tls.Conn); ok {
			below = secure.NetConn()
		}
		s.leader.welcome(&upgraded{below, conn})
	}
}

// full reports whether there is no room for another member.
func (l *leader) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sessions) >= mostMembers
}

// welcome serves a member before its request for the connection is answered.
func (l *leader) welcome(conn net.Conn) {
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return // the member finds the next leader
	}
	l.wg.Add(1) // before close waits
	l.mu.Unlock()
	defer l.wg.Done()
	_, err := conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n"))
	if err == nil {
		_ = l.serve(conn) // the member sees for itself
	}
}

// refuse answers a request that gets no connection.
func refuse(w http.ResponseWriter, status int, code, message, leader string) {
	var a answer
	a.Error.Code, a.Error.Message, a.Error.Leader = code, message, leader
	text, _ := json.Marshal(a) //nolint:errchkjson // it is ours
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the member may be gone
}
