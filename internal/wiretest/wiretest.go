// Package wiretest has what tests of HTTP clients and servers share: servers that send raw bytes,
// a log, and checks that no output contains a secret.
package wiretest

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Canary is a secret that no text may have in it.
const Canary = "c4naryTweet"

// Listen serves each connection with a function that owns it, and returns the address.
// All connections are closed and all functions have returned before the test ends.
func Listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
		over  bool
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			if over {
				_ = conn.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		over = true
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// After reads one request and then passes the connection to answer.
func After(answer func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		answer(c)
	}
}

// Says answers with text and hangs up.
func Says(text string) func(net.Conn) {
	return After(func(c net.Conn) { _, _ = io.WriteString(c, text) })
}

// Stalls answers with text and never goes on.
func Stalls(text string) func(net.Conn) {
	return After(func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	})
}

// verbs are all that fmt knows, and one that it does not.
var verbs = []string{ //nolint:gochecknoglobals // a table
	"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%b", "%o", "%O", "%t", "%e", "%g", "%p", "%T", "%20s", "%-20q", "% x", "%#x", "%#q", "%z",
}

// Shows returns x as fmt, encoders and loggers print it.
func Shows(t *testing.T, x any) string {
	t.Helper()
	var all bytes.Buffer
	for _, verb := range verbs {
		fmt.Fprintf(&all, verb+"\n", x)
	}
	fmt.Fprintln(&all, x)
	asJSON, _ := json.Marshal(x)
	asXML, _ := xml.Marshal(x)
	all.Write(asJSON)
	all.Write(asXML)
	_ = gob.NewEncoder(&all).Encode(x) // which refuses a secret
	slog.New(slog.NewJSONHandler(&all, nil)).Info("m", "x", x)
	slog.New(slog.NewTextHandler(&all, nil)).Info("m", "x", x)
	return all.String()
}

// NoTrace fails if text contains Canary as it is, in hexadecimal or in decimal numbers.
func NoTrace(t *testing.T, text string) {
	t.Helper()
	for _, spelt := range []string{
		Canary, fmt.Sprintf("%x", Canary), fmt.Sprintf("%X", Canary), fmt.Sprintf("% x", Canary),
		fmt.Sprintf("%d", []byte(Canary))[1:20], fmt.Sprintf("%#v", []byte(Canary))[7:30],
	} {
		absent(t, text, spelt)
	}
}

// NoCanary fails if err, or an error that it wraps, contains Canary.
func NoCanary(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, verb := range []string{"%v", "%+v", "%s", "%q"} {
		absent(t, fmt.Sprintf(verb, err), Canary)
	}
	asJSON, _ := json.Marshal(err)
	absent(t, string(asJSON), Canary)
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case interface{ Unwrap() []error }:
		for _, inside := range e.Unwrap() {
			NoCanary(t, inside)
		}
	case interface{ Unwrap() error }:
		NoCanary(t, e.Unwrap())
	}
}

func absent(t *testing.T, text, part string) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%q shows %q", text, part)
	}
}

// Log is an io.Writer that may be read at any time. The zero Log is empty.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
