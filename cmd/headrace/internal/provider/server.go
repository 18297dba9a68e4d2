package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/providertest"
)

// Config describes a Server. Limits apply unless Hidden is set.
type Config struct {
	providertest.Config

	Text   string        // Limits as text, for the ledger
	Hidden Range         // the range of a random limit; unused if zero
	Move   time.Duration // how often a new random limit is picked, counted from the first request; 0 means never
}

// Server is a fake provider with a ledger. It must be closed.
type Server struct {
	*providertest.Server

	config Config
	first  sync.Once // the first request
	stop   chan struct{}
	gone   sync.WaitGroup

	mu     sync.Mutex // guards everything below
	closed bool
	random *rand.Rand
	rate   int // the last random rate
	phases []phase
}

// phase is a period with one limit.
type phase struct {
	from   time.Time // zero means from the first request
	text   string
	bucket providertest.Bucket // of requests
}

// New returns a server that does not listen by itself: see Handler.
func New(c Config) (*Server, error) {
	s := &Server{config: c, stop: make(chan struct{}), random: rand.New(rand.NewPCG(c.Seed, 1))} //nolint:gosec // nothing secret is drawn
	if c.Hidden != (Range{}) {
		s.rate = c.Hidden.draw(s.random, 0)
		c.Limits.Rate = perSecond(s.rate)
		c.Text = fmt.Sprintf("%d/s", s.rate)
	}
	var err error
	if s.Server, err = providertest.New(c.Config); err != nil {
		return nil, err
	}
	s.phases = []phase{{text: c.Text, bucket: c.Limits.Rate}}
	return s, nil
}

// Close stops the changes of the limit.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	s.mu.Unlock()
	s.gone.Wait()
	s.Server.Close()
}

// Handler serves the provider, its ledger at /_ledger, and a PUT to /_limits that sets new limits.
func (s *Server) Handler() http.Handler {
	inner, mux := s.Server.Handler(), http.NewServeMux()
	mux.HandleFunc("GET /_ledger", func(w http.ResponseWriter, r *http.Request) {
		every, err := time.ParseDuration(cmp.Or(r.FormValue("every"), "0"))
		if err != nil || every < 0 || every > 0 && every < time.Millisecond {
			http.Error(w, "every has to be a time of at least 1ms, such as 1s", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(s.Reveal(every)) // the client has disconnected
	})
	mux.HandleFunc("PUT /_limits", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<12))
		if err == nil {
			err = s.allow(strings.TrimSpace(string(text)))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.first.Do(s.begin)
		inner.ServeHTTP(w, r)
	})
	return mux
}

// begin is called by the first request.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phases[0].from = time.Now()
	if s.closed || s.config.Hidden == (Range{}) || s.config.Move <= 0 {
		return
	}
	s.gone.Go(func() {
		ticker := time.NewTicker(s.config.Move)
		defer ticker.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
				s.move()
			}
		}
	})
}

// move picks a new random limit.
func (s *Server) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate = s.config.Hidden.draw(s.random, s.rate)
	limits := s.config.Limits
	limits.Rate = perSecond(s.rate)
	_ = s.setLocked(limits, fmt.Sprintf("%d/s", s.rate)) // every rate of a range is valid
}

// allow replaces all limits.
func (s *Server) allow(text string) error {
	limits, err := Limits([]string{text})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setLocked(limits, text)
}

func (s *Server) setLocked(limits providertest.Limits, text string) error {
	if err := s.SetLimits(limits); err != nil {
		return err
	}
	next := phase{from: time.Now(), text: text, bucket: limits.Rate}
	if last := len(s.phases) - 1; s.phases[last].from.IsZero() { // no request arrived under it
		next.from = time.Time{}
		s.phases = s.phases[:last]
	}
	s.phases = append(s.phases, next)
	return nil
}
