package proxy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/proxy"
)

// summing answers with the hash of the body, after a 429 each first time.
func summing() handler {
	seen := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		if err != nil {
			return
		}
		if id := r.Header.Get("X-Id"); !seen[id] && n > 0 {
			seen[id] = true
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, hex.EncodeToString(h.Sum(nil)))
	}
}

func TestUploadsAreSentAgainUpToMaxBody(t *testing.T) {
	inBubble(t, proxy.Config{MaxBody: 4 << 20}, summing(), func(s *bubble) {
		t := s.t
		unknown := func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b)) }
		known := func(b []byte) io.Reader { return bytes.NewReader(b) }
		for about, c := range map[string]struct {
			length int
			body   func([]byte) io.Reader
			again  bool
		}{
			"short":                       {100, known, true},
			"short, of unknown length":    {100, unknown, true},
			"a MiB and more":              {3 << 20, known, true},
			"the longest":                 {4 << 20, known, true},
			"the longest, unknown length": {4 << 20, unknown, true},
			"too long":                    {4<<20 + 1, known, false},
			"too long, of unknown length": {4<<20 + 1, unknown, false},
		} {
			for _, kind := range []string{"application/json", "multipart/form-data; boundary=x", "application/octet-stream"} {
				text := bytes.Repeat([]byte("{}ab"), c.length/4+1)[:c.length]
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/up/v1", c.body(text))
				require.NoError(t, err)
				r.Header.Set("Content-Type", kind)
				r.Header.Set("X-Id", about+kind)
				got, err := s.do(r)
				require.NoError(t, err)
				if !c.again {
					assert.Equal(t, http.StatusTooManyRequests, got.status, about)
					continue
				}
				sum := sha256.Sum256(text)
				assert.Equal(t, http.StatusOK, got.status, about)
				assert.Equal(t, hex.EncodeToString(sum[:]), got.body, about)
				assert.Equal(t, "2", got.header.Get("X-Headrace-Attempts"), about)
			}
		}
	})
}

func TestMultipartIsPassedOn(t *testing.T) {
	s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer func() { _ = f.Close() }()
		b, _ := io.ReadAll(f)
		_, _ = io.WriteString(w, h.Filename+" "+string(b)+" "+r.FormValue("purpose"))
	}))
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	require.NoError(t, m.WriteField("purpose", "batch"))
	part, err := m.CreateFormFile("file", "a.jsonl")
	require.NoError(t, err)
	_, _ = io.WriteString(part, "{}\n")
	require.NoError(t, m.Close())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/up/v1/files", &b)
	require.NoError(t, err)
	r.Header.Set("Content-Type", m.FormDataContentType())

	assert.Equal(t, "a.jsonl {}\n batch", s.do(t, r).body)
}

func TestHTTP2WithoutTLS(t *testing.T) {
	s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+r.RequestURI+string(b)+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // of the stream, when the client has seen enough
	}))
	own := &http.Transport{Protocols: new(http.Protocols)}
	own.Protocols.SetUnencryptedHTTP2(true)
	defer own.CloseIdleConnections()
	c := &http.Client{Transport: own}
	resp, err := c.Do(s.request(t, http.MethodPost, "/up//v1/a%2Fb?q", `{}`))
	require.NoError(t, err)
	assert.Equal(t, 2, resp.ProtoMajor)
	event := make([]byte, len("data: //v1/a%2Fb?q{}\n\n"))
	_, err = io.ReadFull(resp.Body, event)
	require.NoError(t, err)
	assert.Equal(t, "data: //v1/a%2Fb?q{}\n\n", string(event))
	require.NoError(t, resp.Body.Close())
}

func TestAWebSocketPasses(t *testing.T) {
	s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "websocket", r.Header.Get("Upgrade"))
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
		_, _ = rw.ReadString('\n') // until the client leaves
	}))
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(c, "GET /up/v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nIdempotency-Key: k\r\n\r\n")
	require.NoError(t, err)
	want := "HTTP/1.1 101 Switching Protocols\r\n"
	head := make([]byte, len(want))
	_, err = io.ReadFull(c, head)
	require.NoError(t, err)
	assert.Equal(t, want, string(head))
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	all := make([]byte, 0, 1024)
	for buf := make([]byte, 256); !strings.HasSuffix(string(all), "echo hello\n"); {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		n, err := c.Read(buf)
		require.NoError(t, err)
		all = append(all, buf[:n]...)
	}
	assert.EqualValues(t, 1, s.proxy.Stats().Active, "it counts while it is open")
	assert.Contains(t, string(all), "X-Headrace-Waited: ")
	require.NoError(t, c.Close())
}

// Java's HttpClient offers h2c with each request. HTTP/2 has no such header, and calls in a tunnel would have no limits.
func TestAnOfferOfHTTP2IsNotPassedOn(t *testing.T) {
	for _, major := range []int{1, 2} {
		up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, major, r.ProtoMajor)
			for _, name := range []string{"Connection", "Upgrade", "Http2-Settings"} {
				assert.NotContains(t, r.Header, name)
			}
			_, _ = io.Copy(w, r.Body)
		}))
		up.EnableHTTP2 = major == 2
		up.StartTLS()
		t.Cleanup(up.Close)
		base := up.Client().Transport
		s := before(t, proxy.Config{Base: base, Upstreams: map[string]proxy.Upstream{"up": {URL: up.URL}}})
		got := s.do(t, s.request(t, http.MethodPost, "/up/v1", `{}`,
			"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAAQAAP__"))
		assert.Equal(t, http.StatusOK, got.status, got.body)
		assert.Equal(t, `{}`, got.body)
	}
}

// Events reach the client as they come, and its end the upstream.
func TestStreamsAreFlushed(t *testing.T) {
	for _, kind := range []string{"text/event-stream", "application/x-ndjson", "application/json"} {
		for _, key := range []string{"", "k1"} {
			next, gone := make(chan struct{}), make(chan struct{})
			s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", kind)
				for i := range 3 {
					_, _ = io.WriteString(w, "["+strings.Repeat("x", i)+"\n")
					_ = http.NewResponseController(w).Flush()
					<-next
				}
				<-r.Context().Done()
			}))
			resp, err := s.http.Do(s.request(t, http.MethodPost, "/up/v1", `{}`, "Idempotency-Key", key))
			require.NoError(t, err)
			for i := range 3 {
				piece := make([]byte, i+2)
				_, err := io.ReadFull(resp.Body, piece)
				require.NoError(t, err)
				next <- struct{}{}
			}
			require.NoError(t, resp.Body.Close())
			if key == "" { // with a key it goes on for a while
				<-gone
			}
		}
	}
}

func TestAnUpstreamThatBreaksOffIsNoWholeAnswer(t *testing.T) {
	s := open(t, proxy.Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	resp, err := s.http.Do(s.request(t, http.MethodPost, "/up/v1", `{}`))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	require.Error(t, err)
}
