package run

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/guard"
)

// routes makes requests for net/http. It keeps what the url of the last line led to, because most files have only one. It is safe for
// concurrent use.
type routes struct{ last atomic.Pointer[route] }

type route struct {
	path string // of the line
	to   *http.Request
}

func (r *routes) of(path string, target func(path string) string) (*http.Request, error) {
	if last := r.last.Load(); last != nil && last.path == path {
		return last.to, nil
	}
	to, err := http.NewRequest(http.MethodPost, target(path), nil) //nolint:noctx // each call gets its own
	if err == nil {
		r.last.Store(&route{path, to})
	}
	return to, err
}

// request converts q for net/http. It has no GetBody, which prevents net/http from retrying it by itself and bypassing the limits.
func (c *caller) request(ctx context.Context, q *requests.Request) (*http.Request, error) {
	to, err := c.routes.of(q.URL, c.target)
	if err != nil {
		return nil, err
	}
	req := to.WithContext(guard.CountWire(ctx))
	u := *to.URL
	req.URL = &u
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(q.Body)), int64(len(q.Body))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {c.once(q)}}
	maps.Copy(req.Header, c.Headers)
	return req, nil
}

// target resolves the URL of a line: a path is joined to the base URL, and may repeat the last part of it, such as the
// "/v1" in files for OpenAI.
func (c *caller) target(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	u := *c.Base
	base := strings.TrimRight(u.Path, "/")
	path, query, _ := strings.Cut(path, "?")
	if last := base[strings.LastIndexByte(base, '/')+1:]; last != "" && strings.HasPrefix(path, "/"+last+"/") {
		path = path[len(last)+1:]
	} else if strings.HasSuffix(base, "/openai") && strings.HasPrefix(path, "/v1/") {
		path = path[len("/v1"):] // the compatibility path of Gemini and others takes its place
	}
	u.Path, u.RawPath = base+path, ""
	if decoded, err := url.PathUnescape(path); err == nil { // existing escapes are not escaped again
		u.Path, u.RawPath = base+decoded, strings.TrimRight(c.Base.EscapedPath(), "/")+path
	}
	u.RawQuery = strings.Trim(u.RawQuery+"&"+query, "&")
	return u.String()
}
