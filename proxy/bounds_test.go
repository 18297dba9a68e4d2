package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/throttle"
)

func TestASlowHeaderIsCutOff(t *testing.T) {
	inBubble(t, proxy.Config{}, func(http.ResponseWriter, *http.Request) {}, func(s *bubble) {
		t := s.t
		c, err := s.pipes.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		began := time.Now()
		_, err = io.WriteString(c, "GET /up/v1 HTTP/1.1\r\nHost: localhost\r\n")
		for err == nil {
			_, err = io.WriteString(c, "A: b\r\n")
			time.Sleep(time.Second)
		}
		assert.LessOrEqual(t, time.Since(began), 12*time.Second)
	})
}

// A body that drips holds no place in line and no slot: another call goes on.
func TestASlowBodyHoldsNoSlot(t *testing.T) {
	for about, length := range map[string]string{
		"short": "Content-Length: 1000", "long": "Content-Length: 2000000", "of unknown length": "Transfer-Encoding: chunked",
	} {
		t.Run(about, func(t *testing.T) {
			c := proxy.Config{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}
			inBubble(t, c, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body)
			}, func(s *bubble) {
				t := s.t
				conn, err := s.pipes.Dial(t.Context(), "tcp", "")
				require.NoError(t, err)
				defer func() { _ = conn.Close() }()
				began := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() {
					_, err := io.WriteString(conn, "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+length+"\r\n\r\n")
					for err == nil {
						piece := "{"
						if about == "of unknown length" {
							piece = "1\r\n{\r\n"
						}
						_, err = io.WriteString(conn, piece)
						time.Sleep(time.Second)
					}
				})
				time.Sleep(5 * time.Second)
				got := s.get(t, "/up/v1", `{"a":1}`)
				assert.Equal(t, `{"a":1}`, got.body)
				assert.Equal(t, 5*time.Second, time.Since(began))

				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				defer resp.Body.Close()
				assert.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
				assert.Equal(t, "headrace_body_too_slow", resp.Header.Get("X-Headrace-Error"))
				assert.Equal(t, 30*time.Second, time.Since(began))
				_ = conn.Close()
				wg.Wait()
			})
		})
	}
}

// A long body over a slow line is no slow body, and the connection is as good as new.
func TestABodyOverASlowLineArrives(t *testing.T) {
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n)
	}, func(s *bubble) {
		t := s.t
		conn, err := s.pipes.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		const pieces, size = 40, 20 << 10
		answers := bufio.NewReader(conn)
		for range 2 {
			began := time.Now()
			_, err = fmt.Fprintf(conn, "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", pieces*size)
			for range pieces {
				require.NoError(t, err)
				time.Sleep(time.Second)
				_, err = io.WriteString(conn, strings.Repeat("x", size))
			}
			require.NoError(t, err)
			resp, err := http.ReadResponse(answers, nil)
			require.NoError(t, err)
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			_ = resp.Body.Close()
			assert.Equal(t, http.StatusOK, resp.StatusCode)
			assert.Equal(t, strconv.Itoa(pieces*size), string(b))
			assert.Equal(t, pieces*time.Second, time.Since(began))
			time.Sleep(time.Minute)
		}
	})
}

// A client that reads nothing of its answer does not hold its call for ever.
func TestASlowReaderIsCutOff(t *testing.T) {
	for _, headers := range [][]string{nil, {"Idempotency-Key", "k1"}} {
		var ended time.Time
		inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000000000") // else ReverseProxy flushes under a mutex, which stops the bubble's clock
			piece := bytes.Repeat([]byte("x"), 32<<10)
			for r.Context().Err() == nil {
				if _, err := w.Write(piece); err != nil {
					break
				}
			}
			ended = time.Now()
		}, func(s *bubble) {
			t := s.t
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := s.http.Do(s.request(ctx, "/up/v1", `{}`, headers...))
			require.NoError(t, err)
			defer resp.Body.Close()
			began := time.Now()
			time.Sleep(5 * time.Minute)
			synctest.Wait()

			assert.LessOrEqual(t, ended.Sub(began), time.Minute)
			assert.False(t, ended.IsZero())
			assert.Zero(t, s.proxy.Stats().Active)
		})
	}
}

// deadlines is a ResponseWriter that notes the last deadline of its writes.
type deadlines struct {
	*httptest.ResponseRecorder

	last time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.last = at
	return nil
}

// A write is bounded by a minute, however long a server gives it.
func TestAWriteUnderAPatientServer(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Second, time.Minute + 1, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p, err := proxy.New(proxy.Config{
				Base:      handler(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }),
				Upstreams: map[string]proxy.Upstream{"up": {URL: "http://up.test"}},
			})
			require.NoError(t, err)
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{WriteTimeout: limit})
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/up/v1", http.NoBody)
			r.Host = "localhost"
			p.ServeHTTP(w, r)

			assert.Equal(t, "answer", w.Body.String())
			if limit == 0 { // the deadline would be that of the next request too
				assert.Zero(t, w.last)
			} else {
				assert.Equal(t, time.Minute, time.Until(w.last), "a server with %s", limit)
			}
		})
	}
}

// A stream may pause for longer than a write may take.
func TestAStreamMayPause(t *testing.T) {
	for _, headers := range [][]string{nil, {"Idempotency-Key", "k1"}} {
		inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 3 {
				_, _ = io.WriteString(w, "data: x\n\n")
				time.Sleep(8 * time.Minute)
			}
		}, func(s *bubble) {
			t := s.t
			got := s.get(t, "/up/v1", `{}`, headers...)
			assert.Equal(t, strings.Repeat("data: x\n\n", 3), got.body)
		})
	}
}

func TestThousandClientsThatWaitAndLeave(t *testing.T) {
	const n = 1000
	c := proxy.Config{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}
	started := make(chan struct{}, n+1)
	inBubble(t, c, func(_ http.ResponseWriter, r *http.Request) {
		started <- struct{}{}
		<-r.Context().Done()
	}, func(s *bubble) {
		t := s.t
		ctx, cancel := context.WithCancel(t.Context())
		var wg, holder sync.WaitGroup
		holding, release := context.WithCancel(t.Context())
		holder.Go(func() { _, _ = s.do(s.request(holding, "/c/holder/up/v1", `{}`)) })
		synctest.Wait()
		for i := range n {
			wg.Go(func() { _, _ = s.do(s.request(ctx, "/c/client"+strconv.Itoa(i%10)+"/up/v1", `{}`)) })
		}
		synctest.Wait()
		stats := s.proxy.Stats()
		assert.EqualValues(t, n+1, stats.Active)
		require.Len(t, stats.Queues, 1)
		assert.Equal(t, n, stats.Queues[0].Waiting)
		began := time.Now()
		cancel()
		wg.Wait()
		synctest.Wait()

		assert.Zero(t, time.Since(began))
		stats = s.proxy.Stats()
		assert.EqualValues(t, 1, stats.Active)
		assert.Zero(t, stats.Queues[0].Waiting)
		assert.Len(t, started, 1, "calls upstream")
		assert.Len(t, stats.Clients, 11)
		release()
		holder.Wait()
	})
}

func TestTheNamesOfClientsAreBounded(t *testing.T) {
	inBubble(t, proxy.Config{}, func(http.ResponseWriter, *http.Request) {}, func(s *bubble) {
		t := s.t
		for i := range 4200 {
			s.get(t, "/up/v1", "", "X-Headrace-Client", "n"+strconv.Itoa(i))
		}
		stats := s.proxy.Stats()
		assert.Len(t, stats.Clients, 4097)
		assert.EqualValues(t, 4200, stats.Calls)
	})
}

func TestClientsAreNamed(t *testing.T) {
	inBubble(t, proxy.Config{Weights: map[string]float64{"ci": 3}}, func(http.ResponseWriter, *http.Request) {}, func(s *bubble) {
		t := s.t
		s.get(t, "/c/ci/up/v1", "", "X-Headrace-Client", "other")
		s.get(t, "/up/v1", "", "X-Headrace-Client", "web")
		s.get(t, "/up/v1", "", "Authorization", "Bearer a")
		s.get(t, "/up/v1", "", "Authorization", "Bearer b")
		s.get(t, "/up/v1", "", "Authorization", "Bearer a")
		s.get(t, "/up/v1", "")
		names := map[string]int64{}
		for _, c := range s.proxy.Stats().Clients {
			names[c.Name] = c.Calls
			assert.Equal(t, c.Name == "ci", c.Weight == 3)
		}
		one, two := "", ""
		for name, calls := range names {
			if strings.HasPrefix(name, "up#key") && calls == 2 {
				one = name
			} else if strings.HasPrefix(name, "up#key") {
				two = name
			}
		}
		assert.Equal(t, map[string]int64{"ci": 1, "web": 1, one: 2, two: 1, "up": 1}, names)
	})
}

// What holds for HTTP/1 holds for streams of HTTP/2. Their deadlines end them even
// while nothing is written: a long wait, a long pause, and then a reader that stops.
func TestDeadlinesOverHTTP2(t *testing.T) {
	var ended time.Time
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(8 * time.Minute)
		w.Header().Set("Content-Length", "1000000000")
		piece := bytes.Repeat([]byte("x"), 1000)
		_, _ = w.Write(piece)
		time.Sleep(8 * time.Minute)
		for r.Context().Err() == nil {
			if _, err := w.Write(piece); err != nil {
				break
			}
		}
		ended = time.Now()
	}, func(s *bubble) {
		t := s.t
		own := s.http2()
		defer own.CloseIdleConnections()
		resp, err := (&http.Client{Transport: own}).Do(s.request(t.Context(), "/up/v1", `{}`))
		require.NoError(t, err)
		assert.Equal(t, 2, resp.ProtoMajor)
		_, err = io.ReadFull(resp.Body, make([]byte, 10_000))
		require.NoError(t, err)
		began := time.Now()
		time.Sleep(10 * time.Minute)
		synctest.Wait()

		require.False(t, ended.IsZero())
		assert.LessOrEqual(t, ended.Sub(began), time.Minute)
		_ = resp.Body.Close()
	})
}

// An answer without a body is written behind the handler, after any wait.
func TestAnAnswerWithoutABodyAfterALongWait(t *testing.T) {
	inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(8 * time.Minute)
		w.WriteHeader(http.StatusNoContent)
	}, func(s *bubble) {
		assert.Equal(s.t, http.StatusNoContent, s.get(s.t, "/up/v1", `{}`).status)
	})
}

// Bodies take up to 1 GiB, as declared: one more is refused before it is read.
func TestTheMemoryOfBodiesIsBounded(t *testing.T) {
	inBubble(t, proxy.Config{MaxBody: 600 << 20}, func(http.ResponseWriter, *http.Request) {}, func(s *bubble) {
		t := s.t
		begin := func() net.Conn {
			c, err := s.pipes.Dial(t.Context(), "tcp", "")
			require.NoError(t, err)
			_, err = io.WriteString(c, "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600000000\r\n\r\n{")
			require.NoError(t, err)
			return c
		}
		first := begin()
		synctest.Wait()
		second := begin()
		resp, err := http.ReadResponse(bufio.NewReader(second), nil)
		require.NoError(t, err)
		defer resp.Body.Close()
		assert.Equal(t, "headrace_queue_full", resp.Header.Get("X-Headrace-Error"))
		_ = second.Close()
		_ = first.Close()
		synctest.Wait()
		third := begin() // the memory of those that left is free
		time.Sleep(time.Second)
		assert.EqualValues(t, 1, s.proxy.Stats().Active)
		_ = third.Close()
	})
}

// The line of a guard puts interactive requests before batch ones, and shares by weight.
func TestRequestsTakeTurns(t *testing.T) {
	c := proxy.Config{Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}, Weights: map[string]float64{"heavy": 3}}
	inBubble(t, c, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }, func(s *bubble) {
		t := s.t
		var wg sync.WaitGroup
		var mu sync.Mutex
		done := map[string]int{}
		ask := func(client, priority string) {
			wg.Go(func() {
				got, err := s.do(s.request(t.Context(), "/c/"+client+"/up/v1", `{}`, "X-Headrace-Priority", priority))
				assert.NoError(t, err)
				assert.Equal(t, http.StatusOK, got.status)
				mu.Lock()
				done[client]++
				mu.Unlock()
			})
		}
		for range 100 {
			ask("heavy", "batch")
			ask("light", "batch")
		}
		synctest.Wait()
		time.Sleep(40*time.Second + time.Millisecond)
		synctest.Wait()
		mu.Lock()
		assert.InDelta(t, 30, done["heavy"], 1)
		assert.InDelta(t, 10, done["light"], 1)
		mu.Unlock()
		began := time.Now()
		got := s.get(t, "/c/web/up/v1", `{}`, "X-Headrace-Priority", "interactive")
		assert.Equal(t, http.StatusOK, got.status)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second)
		wg.Wait()
	})
}

// A request that is refused before its body is read does not hold its connection.
func TestASlowBodyThatIsNotWanted(t *testing.T) {
	for about, head := range map[string]string{
		"no upstream":     "POST /unknown/v1 HTTP/1.1\r\nHost: localhost\r\nX-Headrace-Token: " + token,
		"no token":        "POST /up/v1 HTTP/1.1\r\nHost: localhost",
		"no valid client": "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nX-Headrace-Client: a b\r\nX-Headrace-Token: " + token,
		"a preflight":     "OPTIONS /up/v1 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nAccess-Control-Request-Method: POST",
	} {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			t.Run(about+" "+length, func(t *testing.T) {
				inBubble(t, proxy.Config{Token: token}, func(http.ResponseWriter, *http.Request) {}, func(s *bubble) {
					t := s.t
					c, err := s.pipes.Dial(t.Context(), "tcp", "")
					require.NoError(t, err)
					defer func() { _ = c.Close() }()
					began := time.Now()
					_, err = io.WriteString(c, head+"\r\n"+length+"\r\n\r\n")
					require.NoError(t, err)
					require.NoError(t, c.SetReadDeadline(began.Add(time.Hour)))
					_, _ = io.Copy(io.Discard, c)
					assert.LessOrEqual(t, time.Since(began), time.Minute)
				})
			})
		}
	}
}

// A body that is too long to be kept may wait in line before it is read.
func TestALongUploadThatWaits(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		for about, body := range map[string]func(string) io.Reader{
			"known":   func(s string) io.Reader { return strings.NewReader(s) },
			"unknown": func(s string) io.Reader { return io.MultiReader(strings.NewReader(s)) },
		} {
			t.Run(about, func(t *testing.T) {
				c := proxy.Config{MaxBody: 1 << 20, Policy: guard.Policy{Limits: throttle.Limits{Concurrency: 1}}}
				inBubble(t, c, func(w http.ResponseWriter, r *http.Request) {
					_, err := io.Copy(io.Discard, r.Body)
					assert.NoError(t, err)
					time.Sleep(time.Minute)
				}, func(s *bubble) {
					t := s.t
					var wg sync.WaitGroup
					wg.Go(func() { s.get(t, "/up/v1", `{}`) })
					synctest.Wait()
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/up/v1", body(strings.Repeat("x", 2<<20)))
					require.NoError(t, err)
					client := s.http
					if h2 {
						own := s.http2()
						defer own.CloseIdleConnections()
						client = &http.Client{Transport: own}
					}
					resp, err := client.Do(r)
					require.NoError(t, err)
					b, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					_ = resp.Body.Close()
					assert.Equal(t, http.StatusOK, resp.StatusCode, "%s", b)
					wg.Wait()
				})
			})
		}
	}
}

// A client may read slowly, whether it may be joined or not.
func TestASlowReaderThatReads(t *testing.T) {
	for _, key := range []string{"", "Idempotency-Key: k1\r\n"} {
		inBubble(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<20)) // else ReverseProxy flushes under a mutex, which stops the bubble's clock
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		}, func(s *bubble) {
			t := s.t
			c, err := s.pipes.Dial(t.Context(), "tcp", "")
			require.NoError(t, err)
			defer func() { _ = c.Close() }()
			_, err = io.WriteString(c, "GET /up/v1 HTTP/1.1\r\nHost: localhost\r\n"+key+"\r\n")
			require.NoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			defer resp.Body.Close()
			n := 0
			for err == nil {
				var m int64
				m, err = io.CopyN(io.Discard, resp.Body, 8<<10)
				n += int(m)
				time.Sleep(time.Second)
			}
			assert.Equal(t, io.EOF, err)
			assert.Equal(t, 1<<20, n)
		})
	}
}

// What bodies and answers have taken of the memory is given back, whichever way a
// request ends.
func TestMemoryIsGivenBack(t *testing.T) {
	const piece = 60 << 10
	text := strings.Repeat("x", piece)
	inBubble(t, proxy.Config{MaxBody: 1 << 30}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(time.Second)
		w.Header().Set("Content-Length", strconv.Itoa(piece))
		_, _ = io.WriteString(w, text)
	}, func(s *bubble) {
		t := s.t
		full, err := s.pipes.Dial(t.Context(), "tcp", "")
		require.NoError(t, err)
		defer func() { _ = full.Close() }()
		_, err = io.WriteString(full, "POST /up/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: "+strconv.Itoa(1<<30-5*piece)+"\r\n\r\n{")
		require.NoError(t, err)
		ask := func(headers ...string) {
			got, err := s.do(s.request(t.Context(), "/up/v1", text, headers...))
			assert.NoError(t, err)
			assert.Equal(t, http.StatusOK, got.status, "%.200s", got.body)
			assert.Len(t, got.body, piece)
		}
		var wg sync.WaitGroup
		for range 6 {
			ask()
		}
		for range 6 {
			wg.Go(func() { ask("Idempotency-Key", "k1") })
			wg.Go(func() { ask("Idempotency-Key", "k1") })
			wg.Wait()
			synctest.Wait() // the next one must not join this one
		}
		assert.EqualValues(t, 6, s.proxy.Stats().Joined)
		for range 6 {
			s.get(t, "/up/v1", text, "X-Headrace-Client", "a b")
		}
		ask()
		assert.EqualValues(t, 6, s.proxy.Stats().Errors[proxy.CodeClient])
	})
}
