package download

import (
	"context"
	"net/http"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
)

// Doer sends a request. An [httpclient.Client] does, which follows no redirects, an [httpclient.Follower], which follows them through
// a gate, and an *http.Client, which follows them anywhere.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

var (
	_ Doer = (*httpclient.Client)(nil)
	_ Doer = httpclient.Follower{}
	_ Doer = (*http.Client)(nil)
)

// Result is a file that was fetched.
type Result struct {
	// Bytes is the length of the file.
	Bytes int64
	// Resumed is how many of them an earlier call had left.
	Resumed int64
	// Checksum is the file's, such as "sha256:" and 64 hexadecimal digits; by
	// SHA-256 unless an option names another algorithm.
	Checksum string
	// Attempts is how many requests were made.
	Attempts int
	// Requests holds the ids of the event.NetRequest that they were told as, of the last 100; only an httpclient.Client tells them. A
	// redirect that was followed has one too.
	Requests []string
}

// Fetch gets url and stores the body as the file target, whose folder has to
// exist. It returns when the file is on the disk under its name, or with an
// *Error or, for what cannot be tried at all, one *fault.FieldError for each problem. A symbolic
// link in place of target is replaced, and not followed.
//
// When ctx ends Fetch does too, and what has come is kept for a later call. Fetch is safe for concurrent use.
func Fetch(ctx context.Context, client Doer, url, target string, opts ...Option) (Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil { // whose text has the URL, with what is secret in it
		return Result{}, &fault.FieldError{Owner: owner, Field: "url", Problem: "cannot be parsed; want such as https://host/path"}
	}
	return Do(client, req, target, opts...)
}

// Do is [Fetch] for a request of one's own, with headers such as Authorization. Its method has to be GET, without a
// body and the headers Range and If-Range. Its context ends the download. The request is not changed.
func Do(client Doer, req *http.Request, target string, opts ...Option) (Result, error) {
	c, err := configure(client, req, target, opts)
	if err != nil {
		return Result{}, err
	}
	s := &session{config: c, client: client, req: req, theirs: event.From(req.Context())}
	result, err := s.fetch() //nolint:contextcheck // the request has the context
	s.tell(result, err)
	return result, err
}
