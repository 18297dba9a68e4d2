package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/retry"
)

// option changes a Config.
type option func(*Config)

func with(opts []option) (c Config) {
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

func fetchWith(ctx context.Context, client Doer, url, target string, opts ...option) (Result, error) {
	return Fetch(ctx, client, url, target, with(opts))
}

func doWith(client Doer, req *http.Request, target string, opts ...option) (Result, error) {
	return Do(client, req, target, with(opts))
}

func withDisk(d disk) option                 { return func(c *Config) { c.disk = d } }
func withSyncSize(n int64) option            { return func(c *Config) { c.syncSize = n } }
func withRetry(p retry.Policy) option        { return func(c *Config) { c.Retry = &p } }
func withChecksum(text string) option        { return func(c *Config) { c.Checksum = text } }
func withMaxBytes(n int64) option            { return func(c *Config) { c.MaxBytes = n } }
func withMode(m fs.FileMode) option          { return func(c *Config) { c.Mode = m } }
func withEncoded() option                    { return func(c *Config) { c.Encoded = true } }
func withIdentity(name string) option        { return func(c *Config) { c.Identity = name } }
func withObserver(o event.Observer) option   { return func(c *Config) { c.Observer = o } }
func withClock(clock clockwork.Clock) option { return func(c *Config) { c.Clock = clock } }
func withProgress(f func(Progress), every time.Duration) option {
	return func(c *Config) { c.Progress, c.ProgressEvery = f, every }
}

func quick(attempts int) option {
	return withRetry(retry.Policy{MaxAttempts: attempts, Initial: 1, Max: 1})
}

func checksumOf(b []byte) string { s := sha256.Sum256(b); return "sha256:" + hex.EncodeToString(s[:]) }
func tagOf(version int) string   { return `"v` + strconv.Itoa(version) + `"` }
func errorOf(err error) *Error   { e, _ := errors.AsType[*Error](err); return e }
func stepOf(err error) string    { return errorOf(err).Step }
func at(h int) time.Time         { return time.Date(2026, 1, 2, h, 0, 0, 0, time.UTC) }
func header(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Add(kv[i], kv[i+1])
	}
	return h
}

// content is a version's bytes; no two versions agree anywhere.
func content(version, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range b {
		b[i] = byte(r.UintN(40)) + byte(40*version)
	}
	return b
}

var errBroken = errors.New("the connection broke")

// breaking is a body that ends with errBroken after n bytes, if that is before its end.
func breaking(b []byte, n int) io.ReadCloser {
	if n >= len(b) {
		return io.NopCloser(bytes.NewReader(b))
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(b[:n]), failing{}))
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

// doer is a client without a network.
type doer func(req *http.Request) (*http.Response, error)

func (d doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

func respond(req *http.Request, status int, h http.Header, length int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: status, Header: h, ContentLength: int64(length), Body: body, Request: req,
		ProtoMajor: 1, ProtoMinor: 1, Proto: "HTTP/1.1",
	}
}

// honest serves body with the strong tag and as RFC 9110 has it. Each answer breaks after
// as many bytes as cuts says in its turn, the ones after that do not.
type honest struct {
	body  []byte
	tag   string
	cuts  []int
	asked []string // the ranges
	sent  int
}

func (s *honest) Do(req *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, req.Header.Get("Range"))
	h := header("ETag", s.tag)
	from, status := 0, http.StatusOK
	if text, ok := strings.CutPrefix(req.Header.Get("Range"), "bytes="); ok && req.Header.Get("If-Range") == s.tag {
		from, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
		if from >= len(s.body) {
			return respond(req, 416, header("Content-Range", fmt.Sprintf("bytes */%d", len(s.body))), 0, http.NoBody), nil
		}
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.body)-1, len(s.body)))
	}
	rest := s.body[from:]
	n := len(rest)
	if len(s.cuts) > 0 {
		n, s.cuts = min(n, s.cuts[0]), s.cuts[1:]
	}
	s.sent += n
	return respond(req, status, h, len(rest), breaking(rest, n)), nil
}

func requestEvent(id int) event.Event {
	e := event.New(at(1), event.NetRequest, "h")
	e.Request = &event.Request{ID: strconv.Itoa(id)}
	return e
}

// stamped is a line of a state with its checksum.
func stamped(line string) []byte {
	return fmt.Appendf(nil, "%08x %s", crc32.ChecksumIEEE([]byte(strings.TrimSuffix(line, "\n"))), line)
}
