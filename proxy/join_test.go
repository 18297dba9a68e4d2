package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
)

// counting is an upstream that takes its time, and counts.
type counting struct{ calls, cancelled atomic.Int64 }

func (c *counting) serve(w http.ResponseWriter, r *http.Request) {
	n := c.calls.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case <-time.After(10 * time.Second):
	case <-r.Context().Done():
		c.cancelled.Add(1)
		return
	}
	w.Header().Set("X-Call", strconv.FormatInt(n, 10))
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "answer "+strconv.FormatInt(n, 10))
}

func TestAnSDKThatTimedOutJoinsItsFirstCall(t *testing.T) {
	up := &counting{}
	inBubble(t, proxy.Config{}, up.serve, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err := s.do(s.request(ctx, "/up/v1", `{"a":1}`, "Idempotency-Key", "k1"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(2 * time.Second) // the SDK's own pause
		began := time.Now()
		got := s.get(t, "/up/v1", `{"a":1}`, "Idempotency-Key", "k1", "X-Stainless-Retry-Count", "1")

		assert.Equal(t, "answer 1", got.body)
		assert.Equal(t, http.StatusCreated, got.status)
		assert.Equal(t, "1", got.header.Get("X-Call"))
		assert.Equal(t, "true", got.header.Get("X-Headrace-Joined"))
		assert.Equal(t, "1", got.header.Get("X-Headrace-Attempts"))
		assert.Equal(t, 4*time.Second, time.Since(began))
		assert.EqualValues(t, 1, up.calls.Load())
		assert.EqualValues(t, 1, s.proxy.Stats().Joined)

		again := s.get(t, "/up/v1", `{"a":1}`, "Idempotency-Key", "k1")
		assert.Equal(t, "answer 2", again.body, "an answer that was delivered is not kept")
	})
}

func TestAnAnswerIsKeptForAClientThatLeft(t *testing.T) {
	up := &counting{}
	inBubble(t, proxy.Config{}, up.serve, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		_, err := s.do(s.request(ctx, "/up/v1", `{}`, "Idempotency-Key", "k1"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(8 * time.Second) // the answer has come
		began := time.Now()
		got := s.get(t, "/up/v1", `{}`, "Idempotency-Key", "k1")

		assert.Equal(t, "answer 1", got.body)
		assert.Zero(t, time.Since(began))
	})
}

func TestACallWithoutAClientEnds(t *testing.T) {
	for about, c := range map[string]struct {
		headers []string
		after   time.Duration
	}{
		"at once":                        {nil, 0},
		"after the grace, with a key":    {[]string{"Idempotency-Key", "k1"}, 15 * time.Second},
		"at once, with a key of no text": {[]string{"Idempotency-Key", ""}, 0},
	} {
		t.Run(about, func(t *testing.T) {
			var ended time.Time
			inBubble(t, proxy.Config{}, func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				ended = time.Now()
			}, func(s *bubble) {
				t := s.t
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := s.do(s.request(ctx, "/up/v1", `{}`, c.headers...))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				left := time.Now()
				time.Sleep(time.Minute)
				synctest.Wait()

				assert.Equal(t, c.after, ended.Sub(left))
				assert.Zero(t, s.proxy.Stats().Active)
			})
		})
	}
}

func TestOnlyEqualRequestsJoin(t *testing.T) {
	up := &counting{}
	inBubble(t, proxy.Config{}, up.serve, func(s *bubble) {
		t := s.t
		type sent struct {
			path, body string
			headers    []string
		}
		base := []string{"Idempotency-Key", "k1", "Authorization", "Bearer a"}
		var wg sync.WaitGroup
		for _, r := range []sent{
			{"/up/v1", `{"a":1}`, base},
			{"/up/v1", `{"a":2}`, base},
			{"/up/v2", `{"a":1}`, base},
			{"/up/v1?x", `{"a":1}`, base},
			{"/c/other/up/v1", `{"a":1}`, base},
			{"/up/v1", `{"a":1}`, []string{"Idempotency-Key", "k2", "Authorization", "Bearer a"}},
			{"/up/v1", `{"a":1}`, []string{"Idempotency-Key", "k1", "Authorization", "Bearer b"}},
			{"/c/other/up/v1", `{"a":1}`, []string{"Idempotency-Key", "k1", "Authorization", "Bearer b"}},
			{"/up/v1", `{"a":1}`, []string{"Idempotency-Key", "k1", "Authorization", "Bearer a", "Accept", "text/event-stream"}},
		} {
			wg.Go(func() {
				got, err := s.do(s.request(t.Context(), r.path, r.body, r.headers...))
				assert.NoError(t, err)
				assert.Empty(t, got.header.Get("X-Headrace-Joined"), "%+v", r)
			})
		}
		wg.Wait()
		assert.EqualValues(t, 9, up.calls.Load())
	})
}

func TestAStreamIsJoined(t *testing.T) {
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 10 {
			_, _ = io.WriteString(w, "data: "+strconv.Itoa(i)+"\n\n")
			time.Sleep(time.Second)
		}
	}, func(s *bubble) {
		t := s.t
		first, err := s.http.Do(s.request(t.Context(), "/up/v1", `{"stream":true}`, "Idempotency-Key", "k1"))
		require.NoError(t, err)
		time.Sleep(4500 * time.Millisecond)
		began := time.Now()
		second := s.get(t, "/up/v1", `{"stream":true}`, "Idempotency-Key", "k1")
		whole, err := io.ReadAll(first.Body)
		require.NoError(t, err)
		require.NoError(t, first.Body.Close())

		assert.Equal(t, string(whole), second.body)
		assert.Equal(t, 10, strings.Count(second.body, "data: "))
		assert.Equal(t, 5500*time.Millisecond, time.Since(began))
	})
}

// Every client of a call gets the trailers of its answer.
func TestAJoinedAnswerHasItsTrailers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "answer")
			w.Header().Set("X-Sum", "1")
		},
		"not announced": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "answer")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		},
		"without a body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set("X-Sum", "1")
		},
	} {
		for _, header := range []string{"X-None", "Connection"} { // passed on by forward, and by a ReverseProxy
			t.Run(name+", "+header, func(t *testing.T) {
				joined := make(chan struct{})
				s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					<-joined
					answer(w, r)
				}))
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() {
						resp, err := s.http.Do(s.request(t, http.MethodPost, "/up/v1", `{}`, "Idempotency-Key", "k1", header, "X-None"))
						if !assert.NoError(t, err) {
							return
						}
						_, err = io.ReadAll(resp.Body)
						assert.NoError(t, err)
						assert.NoError(t, resp.Body.Close())
						assert.Equal(t, "1", resp.Trailer.Get("X-Sum"))
					})
				}
				assert.Eventually(t, func() bool { return s.proxy.Stats().Joined == 1 }, time.Minute, time.Millisecond)
				close(joined)
				wg.Wait()
			})
		}
	}
}

// What is too long to be kept goes on for those that read it; no other joins.
func TestALongAnswerIsNotJoined(t *testing.T) {
	piece := bytes.Repeat([]byte("x"), 64<<10)
	var calls atomic.Int64
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		for range 64 { // 4 MiB
			if _, err := w.Write(piece); err != nil || r.Context().Err() != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}, func(s *bubble) {
		t := s.t
		lengths := make(chan int, 2)
		ask := func() {
			got, err := s.do(s.request(t.Context(), "/up/v1", `{}`, "Idempotency-Key", "k1"))
			assert.NoError(t, err)
			lengths <- len(got.body)
		}
		var wg sync.WaitGroup
		wg.Go(ask)
		time.Sleep(30 * time.Second)
		wg.Go(ask)
		wg.Wait()

		assert.Equal(t, 4<<20, <-lengths)
		assert.Equal(t, 4<<20, <-lengths)
		assert.EqualValues(t, 2, calls.Load())
	})
}

func TestAnAnswerThatBreaksOffIsNotTakenForWhole(t *testing.T) {
	for _, headers := range [][]string{nil, {"Idempotency-Key", "k1"}} {
		inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}, func(s *bubble) {
			t := s.t
			got, err := s.do(s.request(t.Context(), "/up/v1", `{}`, headers...))

			assert.Equal(t, "half", got.body)
			require.Error(t, err)
		})
	}
}

func TestDrainEndsCallsWithoutAClient(t *testing.T) {
	up := &counting{}
	inBubble(t, proxy.Config{}, up.serve, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.do(s.request(ctx, "/up/v1", `{}`, "Idempotency-Key", "k1"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, s.proxy.Drain(t.Context()))
		synctest.Wait()

		assert.Zero(t, time.Since(began))
		assert.EqualValues(t, 1, up.cancelled.Load())
	})
}

// An answer that has become too long to be joined is of no use to a client that left.
func TestALongAnswerWithoutAClientEnds(t *testing.T) {
	var ended time.Time
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended = time.Now() }()
		for r.Context().Err() == nil { // 512 KiB a second
			if _, err := w.Write(make([]byte, 512<<10)); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := s.do(s.request(ctx, "/up/v1", `{}`, "Idempotency-Key", "k1"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		left := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()

		assert.LessOrEqual(t, ended.Sub(left), 4*time.Second)
		assert.Zero(t, s.proxy.Stats().Active)
	})
}

// Without memory left, an answer is passed on and not kept.
func TestAnswersAreKeptInTheMemoryThatThereIs(t *testing.T) {
	var written atomic.Int64
	c := proxy.Config{MaxBody: 1 << 30}
	inBubble(t, c, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<20)) // else ReverseProxy flushes under a mutex, which stops the bubble's clock
		for range 256 {
			n, err := w.Write(make([]byte, 4<<10))
			if err != nil {
				return
			}
			written.Add(int64(n))
		}
	}, func(s *bubble) {
		t := s.t
		dial := func(text string) net.Conn {
			conn, err := s.pipes.Dial(t.Context(), "tcp", "")
			require.NoError(t, err)
			_, err = io.WriteString(conn, text)
			require.NoError(t, err)
			return conn
		}
		full := dial("POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(1<<30) + "\r\n\r\n{")
		synctest.Wait()
		conn := dial("GET /up/v1 HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k1\r\n\r\n")
		synctest.Wait()
		assert.LessOrEqual(t, written.Load(), int64(256<<10), "until the client reads")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		_ = resp.Body.Close()
		assert.EqualValues(t, 1<<20, n)
		_, _ = full.Close(), conn.Close()
	})
}

// Clients that are too many to be counted apart are still different ones.
func TestClientsThatAreNotCountedApartDoNotJoin(t *testing.T) {
	up := &counting{}
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			up.serve(w, r)
		}
	}, func(s *bubble) {
		t := s.t
		for i := range 4100 {
			s.get(t, "/up/v1", "", "X-Headrace-Client", "n"+strconv.Itoa(i))
		}
		var wg sync.WaitGroup
		for _, client := range []string{"late1", "late2"} {
			wg.Go(func() {
				got, err := s.do(s.request(t.Context(), "/c/"+client+"/up/v1", `{}`, "Idempotency-Key", "k1"))
				assert.NoError(t, err)
				assert.Empty(t, got.header.Get("X-Headrace-Joined"))
			})
		}
		wg.Wait()
		assert.EqualValues(t, 2, up.calls.Load())
	})
}
