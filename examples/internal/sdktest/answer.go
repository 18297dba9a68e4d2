package sdktest

import (
	"io"
	"net/http"
	"sync/atomic"
)

// Answer answers the nth request, counted from 1.
type Answer func(n int, w http.ResponseWriter, r *http.Request)

// Handler is a provider that answers so. It has read the whole request by then.
func Handler(answer Answer) http.Handler { return counted(new(atomic.Int64), answer) }

func counted(calls *atomic.Int64, answer Answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(int(calls.Add(1)), w, r)
	})
}

// Always answers with a status and a body, and with fields of the header, names and values in turn.
func Always(status int, body string, header ...string) Answer {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Once answers the first request and then otherwise.
func Once(first, then Answer) Answer {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			first(n, w, r)
			return
		}
		then(n, w, r)
	}
}

// Events streams all of them.
func Events(all ...string) Answer {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range all {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// Cut ends the connection after some of the body; without any, before the header.
func Cut(body string) Answer {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		if body != "" {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// Hang streams the events and then waits for the caller to go away; without any, before the header.
func Hang(events ...string) Answer {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if len(events) > 0 {
			Events(events...)(n, w, r)
		}
		<-r.Context().Done()
	}
}

// Redirect sends the caller elsewhere, with the same method and body.
func Redirect(to string) Answer {
	return func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}
}
