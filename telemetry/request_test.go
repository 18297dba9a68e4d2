package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/telemetry"
)

// request is the end of one that went well, changed by f.
func request(f func(*event.Event)) event.Event {
	e := event.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), event.NetRequest, "service")
	e.Attempt, e.Wait = 2, 3*time.Second
	e.Request = &event.Request{
		ID: "an-id", Run: "a-run", Method: "POST", URL: "https://api.example.com/v1/chat?key=REDACTED",
		Status: 200, Proto: "HTTP/1.1", FirstByte: 2 * time.Second, Waited: time.Second, Sent: 5, Received: 7,
	}
	if f != nil {
		f(&e)
	}
	return e
}

// attributeOf is the value of key in a line of a recorder.
func attributeOf(line, key string) (value string, ok bool) {
	_, rest, ok := strings.Cut(line+" ", " "+key+"=")
	value, _, _ = strings.Cut(rest, " ")
	return value, ok
}

func TestRequest(t *testing.T) {
	r, o := record(t, telemetry.Config{})
	o.Observe(request(nil))
	const with = " headrace.service=service http.request.method=POST http.response.status_code=200 network.protocol.version=1.1 server.address=api.example.com server.port=443"
	assert.Equal(t, []string{
		"headrace.http.client.attempts=2" + with,
		"headrace.http.client.duration=2" + with,
		"headrace.http.client.first_byte=1" + with,
		"headrace.http.client.request.body.size=5" + with,
		"headrace.http.client.response.body.size=7" + with,
		"headrace.http.client.wait=1" + with,
	}, r.taken())
}

// What is recorded, and what is not, where a request did not get an answer from the wire.
func TestRequestWithoutAnAnswer(t *testing.T) {
	r, o := record(t, telemetry.Config{})
	for about, c := range map[string]struct {
		change func(*event.Event)
		want   []string
	}{
		"a cache answered": {
			func(e *event.Event) { e.Attempt, e.Request.Cached, e.Request.Waited = 0, true, 0 },
			[]string{"headrace.http.client.attempts=0", "headrace.http.client.cached=1"},
		},
		"it was given up while it waited": {
			func(e *event.Event) {
				e.Attempt, e.Err, e.Request.Waited = 0, io.EOF, 0
				e.Request.Status, e.Request.Proto, e.Request.Received = 0, "", 0
			},
			[]string{"headrace.http.client.attempts=0", "headrace.http.client.wait=3"},
		},
		"no connection": {
			func(e *event.Event) {
				e.Err, e.Request.Status, e.Request.Proto, e.Request.Received = io.EOF, 0, "", 0
			},
			[]string{
				"headrace.http.client.attempts=2", "headrace.http.client.duration=2",
				"headrace.http.client.request.body.size=5", "headrace.http.client.wait=1",
			},
		},
		"a clock that went back": {
			func(e *event.Event) { e.Wait, e.Request.FirstByte = 0, 0 },
			[]string{
				"headrace.http.client.attempts=2", "headrace.http.client.duration=0", "headrace.http.client.first_byte=0",
				"headrace.http.client.request.body.size=5", "headrace.http.client.response.body.size=7", "headrace.http.client.wait=1",
			},
		},
	} {
		o.Observe(request(c.change))
		var got []string
		for _, line := range r.taken() {
			name, _, _ := strings.Cut(line, " ")
			got = append(got, name)
		}
		assert.Equal(t, c.want, got, about)
	}
}

type typedError struct{ text string }

func (e *typedError) Error() string     { return "of a type" }
func (e *typedError) ErrorType() string { return e.text }

func TestRequestAttributes(t *testing.T) {
	const none = ""
	for _, c := range []struct {
		about  string
		change func(*event.Event)
		key    string
		want   string
	}{
		{"a method of ours", func(e *event.Event) { e.Request.Method = "QUERY" }, "http.request.method", "QUERY"},
		{"a method of theirs", func(e *event.Event) { e.Request.Method = "PROPFIND" }, "http.request.method", "_OTHER"},
		{"methods have a case", func(e *event.Event) { e.Request.Method = "get" }, "http.request.method", "_OTHER"},
		{"HTTP/2", func(e *event.Event) { e.Request.Proto = "HTTP/2.0" }, "network.protocol.version", "2"},
		{"HTTP/3", func(e *event.Event) { e.Request.Proto = "HTTP/3.0" }, "network.protocol.version", "3"},
		{"HTTP/1.0", func(e *event.Event) { e.Request.Proto = "HTTP/1.0" }, "network.protocol.version", "1.0"},
		{"no such version", func(e *event.Event) { e.Request.Proto = "HTTP/1.7" }, "network.protocol.version", none},
		{"http is left out", func(*event.Event) {}, "network.protocol.name", none},
		{"a port", func(e *event.Event) { e.Request.URL = "https://h:8443/v1/chat?key=REDACTED" }, "server.port", "8443"},
		{"a host with a port", func(e *event.Event) { e.Request.URL = "https://h:8443/v1/chat?key=REDACTED" }, "server.address", "h"},
		{"without TLS", func(e *event.Event) { e.Request.URL = "http://h/" }, "server.port", "80"},
		{"hosts have no case", func(e *event.Event) { e.Request.URL = "https://API.Example.com/v1/chat?key=REDACTED" }, "server.address", "api.example.com"},
		{"IPv6", func(e *event.Event) { e.Request.URL = "https://[::1]:80/v1/chat?key=REDACTED" }, "server.address", "::1"},
		{"a service", func(*event.Event) {}, "headrace.service", "service"},
		{"no service but the host", func(e *event.Event) { e.Source = "api.example.com" }, "headrace.service", none},
		{"the port of the scheme", func(e *event.Event) { e.Request.URL = "https://h:443/v1/chat?key=REDACTED" }, "server.port", "443"},
		{"a port without a number", func(e *event.Event) { e.Request.URL = "https://h:/v1/chat?key=REDACTED" }, "server.port", "443"},
		{"no status", func(e *event.Event) { e.Request.Status = 0 }, "http.response.status_code", none},
		{"no error", func(e *event.Event) { e.Request.Status = 399 }, "error.type", none},
		{"a status is one", func(e *event.Event) { e.Request.Status = 400 }, "error.type", "400"},
		{"a code", func(e *event.Event) { e.Err = &httpclient.Error{Code: httpclient.CodeRead} }, "error.type", "E_NET_READ"},
		{"an error says more than a status", func(e *event.Event) {
			e.Err, e.Request.Status = fmt.Errorf("around: %w", &httpclient.Error{Code: httpclient.CodeRead}), 500
		}, "error.type", "E_NET_READ"},
		{"an error without a type", func(e *event.Event) { e.Err = errors.New("secret") }, "error.type", "_OTHER"},
		{"an empty type", func(e *event.Event) { e.Err = &typedError{} }, "error.type", "_OTHER"},
		{"another's type", func(e *event.Event) { e.Err = &typedError{"theirs"} }, "error.type", "theirs"},
	} {
		r, o := record(t, telemetry.Config{})
		o.Observe(request(c.change))
		for _, line := range r.taken() {
			got, ok := attributeOf(line, c.key)
			assert.Equal(t, c.want, got, c.about)
			assert.Equal(t, c.want != none, ok, c.about)
		}
	}
}

func TestHostsBeyondTheMost(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 2})
	to := func(url string) string {
		o.Observe(request(func(e *event.Event) { e.Request.URL = url }))
		line := r.taken()[0]
		address, _ := attributeOf(line, "server.address")
		port, _ := attributeOf(line, "server.port")
		return address + " " + port
	}
	assert.Equal(t, "a 443", to("https://a"))
	assert.Equal(t, "a 80", to("http://a"))
	assert.Equal(t, "a 443", to("https://A:443"), "one host, spelled otherwise")
	assert.Equal(t, "a 80", to("http://a:80"))
	assert.Equal(t, "_OTHER 443", to("https://b"))
	assert.Equal(t, "_OTHER 443", to("https://b:8443"))
	assert.Equal(t, "_OTHER 80", to("http://b"))
	assert.Equal(t, "a 443", to("https://a"))
}

// The first spelling does not take the room of another host.
func TestSpellingsAreOneHost(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 2})
	for _, host := range []string{"Example.com", "example.com", "example.com:443", "other.example.com"} {
		o.Observe(request(func(e *event.Event) { e.Request.URL = "https://" + host }))
	}
	for _, line := range r.taken() {
		address, _ := attributeOf(line, "server.address")
		assert.Contains(t, []string{"example.com", "other.example.com"}, address)
	}
}

func TestServicesBeyondTheMost(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	for _, c := range []struct{ name, want string }{{"a", "a"}, {"b", "_OTHER"}, {"a", "a"}} {
		o.Observe(request(func(e *event.Event) { e.Source = c.name }))
		got, _ := attributeOf(r.taken()[0], "headrace.service")
		assert.Equal(t, c.want, got)
	}
}

// More combinations than are kept are all told right.
func TestMoreAttributesThanAreKept(t *testing.T) {
	r, o := record(t, telemetry.Config{})
	told := func(status int, method string) {
		o.Observe(request(func(e *event.Event) {
			e.Attempt, e.Request.Status, e.Request.Method, e.Request.Cached = 0, status, method, true
		}))
		for _, line := range r.taken() {
			got, _ := attributeOf(line, "http.response.status_code")
			require.Equal(t, strconv.Itoa(status), got)
			got, _ = attributeOf(line, "http.request.method")
			require.Equal(t, method, got)
		}
	}
	for status := 100; status < 1000; status++ {
		told(status, "GET")
		told(status, "PUT")
		told(status, "POST")
	}
	told(999, "POST")
	told(100, "GET")
}
