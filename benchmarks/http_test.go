package benchmarks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
)

// serverEnv has a test binary serve HTTP instead of test.
const serverEnv = "HEADRACE_BENCH_SERVER"

const (
	chatRequest = `{"model":"gpt-4o-mini","max_tokens":60,"messages":[` +
		`{"role":"system","content":"Summarise the passage in one short sentence."},` +
		`{"role":"user","content":"A headrace is the channel that leads the water to the wheel."}]}`
	chatAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1767225600,"model":"gpt-4o-mini",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"It feeds the wheel."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":31,"completion_tokens":5,"total_tokens":36}}`
)

// served is where the server of another process listens.
type served struct {
	HTTP1, HTTP2 string // the URLs
	Certificate  []byte // of the server with TLS
}

// serverChild serves until its input ends.
func serverChild(in io.Reader, out io.Writer) (status int) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the answer is not reached after a cut
		if r.URL.Path == streamPath {
			streamChat(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, chatAnswer)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	defer plain.Close()
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	if err := json.NewEncoder(out).Encode(served{plain.URL, secure.URL, secure.Certificate().Raw}); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, in)
	return 0
}

const (
	streamPath = "/stream"
	chatEvent  = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"gpt-4o-mini",` +
		`"choices":[{"index":0,"delta":{"content":" wheel"},"finish_reason":null}]}` + "\n\n"
	streamEvents = 20 << 10 / len(chatEvent)
)

// streamChat writes a stream of events, each flushed by itself.
func streamChat(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	for range streamEvents {
		_, _ = io.WriteString(w, chatEvent)
		_ = flusher.Flush()
	}
}

// serve starts the server in a process of its own, so that what it allocates is
// not counted.
func serve(tb testing.TB) (s served, roots *x509.CertPool) {
	tb.Helper()
	child := exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0]) // it ends with its input
	child.Env = append(os.Environ(), serverEnv+"=1")
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	require.NoError(tb, err)
	out, err := child.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, child.Start())
	tb.Cleanup(func() { assert.NoError(tb, errors.Join(in.Close(), child.Wait())) })
	require.NoError(tb, json.NewDecoder(out).Decode(&s))
	certificate, err := x509.ParseCertificate(s.Certificate)
	require.NoError(tb, err)
	roots = x509.NewCertPool()
	roots.AddCert(certificate)
	return s, roots
}

// A post sends one chat, reads the answer to its end and says by which HTTP it came.
type post func(ctx context.Context, url string) (proto string, err error)

// A poster is one way to do that.
type poster struct {
	name string
	make func(tb testing.TB, roots *x509.CertPool) post
}

// wire is what every contender but httpclient sends by.
func wire(tb testing.TB, roots *x509.CertPool) *http.Transport {
	tb.Helper()
	t := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	tb.Cleanup(t.CloseIdleConnections)
	return t
}

type doer interface {
	Do(req *http.Request) (*http.Response, error)
}

func chats(d doer) post {
	return func(ctx context.Context, url string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(chatRequest)))
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := d.Do(req)
		if err != nil {
			return "", err
		}
		return finish(resp)
	}
}

func finish(resp *http.Response) (proto string, err error) {
	n, err := io.Copy(io.Discard, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return "", err
	}
	want := len(chatAnswer)
	if resp.Request.URL.Path == streamPath {
		want = streamEvents * len(chatEvent)
	}
	if resp.StatusCode != http.StatusOK || n != int64(want) {
		return "", fmt.Errorf("status %d, %d bytes", resp.StatusCode, n)
	}
	return resp.Proto, nil
}

// limited puts our transport around base, with limits that never bind and a
// registry of its own.
func limited(tb testing.TB, base http.RoundTripper) http.RoundTripper {
	tb.Helper()
	r, err := registry.New(registry.Config{Default: registry.Spec{Limits: windows(bucket()), Law: registry.Fixed}})
	require.NoError(tb, err)
	return headrace.Transport(base, presets.ID(""), headrace.WithRegistry(r))
}

func client(tb testing.TB, c httpclient.Config) *httpclient.Client {
	tb.Helper()
	made, err := httpclient.New(c)
	require.NoError(tb, err)
	tb.Cleanup(made.Close)
	return made
}

func posters() []poster {
	return []poster{
		{"net-http", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			return chats(&http.Client{Transport: wire(tb, roots)})
		}},
		{"httpclient", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			return chats(client(tb, httpclient.Config{RootCAs: roots}))
		}},
		{"httpclient-observed", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			return chats(client(tb, httpclient.Config{RootCAs: roots, Observer: event.Func(func(event.Event) {})}))
		}},
		{"transport", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			return chats(&http.Client{Transport: limited(tb, wire(tb, roots))})
		}},
		{"httpclient-transport", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			return chats(client(tb, httpclient.Config{
				RootCAs: roots,
				Wrap:    []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper { return limited(tb, next) }},
			}))
		}},
		{"retryablehttp", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			c := retryablehttp.NewClient()
			c.HTTPClient, c.Logger = &http.Client{Transport: wire(tb, roots)}, nil
			return func(ctx context.Context, url string) (string, error) {
				req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, url, []byte(chatRequest))
				if err != nil {
					return "", err
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := c.Do(req)
				if err != nil {
					return "", err
				}
				return finish(resp)
			}
		}},
		{"otelhttp", func(tb testing.TB, roots *x509.CertPool) post {
			tb.Helper()
			return chats(&http.Client{Transport: otelhttp.NewTransport(wire(tb, roots))})
		}},
	}
}

// wires are the two ways to the server, as the report names them.
func (s served) wires() []struct{ name, url, proto string } {
	return []struct{ name, url, proto string }{{"http1", s.HTTP1, "HTTP/1.1"}, {"http2", s.HTTP2, "HTTP/2.0"}}
}

func TestPostersPost(t *testing.T) {
	s, roots := serve(t)
	for _, w := range s.wires() {
		for _, p := range posters() {
			proto, err := p.make(t, roots)(t.Context(), w.url)
			require.NoError(t, err, p.name)
			assert.Equal(t, w.proto, proto, p.name)
		}
	}
}

// BenchmarkRequest is a small chat over loopback, to a server in another
// process: the request is made, sent, and its answer read and closed.
func BenchmarkRequest(b *testing.B) {
	s, roots := serve(b)
	for _, w := range s.wires() {
		b.Run(w.name, func(b *testing.B) { sends(b, roots, w.url, posters()) })
	}
}

// BenchmarkRequestStream is an answer of 20 KB in events, over HTTP/1.1.
func BenchmarkRequestStream(b *testing.B) {
	s, roots := serve(b)
	sends(b, roots, s.HTTP1+streamPath, slices.DeleteFunc(posters(), func(p poster) bool { return p.name != "net-http" && p.name != "transport" }))
}

func sends(b *testing.B, roots *x509.CertPool, url string, by []poster) {
	b.Helper()
	var all []contender
	for _, p := range by {
		all = append(all, contender{p.name, func(b *testing.B) {
			b.Helper()
			send := p.make(b, roots)
			for range 10 { // connections, pools and what is remembered of a host
				_, err := send(b.Context(), url)
				require.NoError(b, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := send(b.Context(), url); err != nil {
					b.Fatal(err)
				}
			}
		}})
	}
	contend(b, all)
}
