package download

import (
	"context"
	"net/http"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
)

// Doer sends a request: an [httpclient.Client], which follows no redirects, an [httpclient.Follower],
// which follows them through a gate, or an *http.Client, which follows them anywhere.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

var (
	_ Doer = (*httpclient.Client)(nil)
	_ Doer = httpclient.Follower{}
	_ Doer = (*http.Client)(nil)
)

// Result describes a fetched file.
type Result struct {
	// Bytes is the length of the file.
	Bytes int64
	// Resumed is how many of them an earlier call had fetched.
	Resumed int64
	// Checksum is that of the file, such as "sha256:" and 64 hexadecimal digits, by the algorithm of
	// Config.Checksum or SHA-256.
	Checksum string
	// Attempts is the number of requests.
	Attempts int
	// Requests holds the ids of the last 100 event.NetRequest, redirects included, if the client is an
	// httpclient.Client.
	Requests []string
}

// Fetch gets url and stores the body as the file target, in an existing folder. It returns when the file is on disk under its
// name, with an *Error, or with a *fault.FieldError for each invalid argument. A symbolic link in place of target is replaced.
//
// If ctx ends, what has arrived is kept for a later call. Fetch is safe for concurrent use.
func Fetch(ctx context.Context, client Doer, url, target string, config Config) (Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil { // its text has the URL, with its secrets
		return Result{}, &fault.FieldError{Owner: owner, Field: "url", Problem: "cannot be parsed; want such as https://host/path"}
	}
	return Do(client, req, target, config)
}

// Do is [Fetch] for your own request, with headers such as Authorization. It must be a GET without a
// body and without the headers Range and If-Range. Its context ends the download. The request is not
// changed.
func Do(client Doer, req *http.Request, target string, config Config) (Result, error) {
	c, err := configure(client, req, target, config)
	if err != nil {
		return Result{}, err
	}
	s := &session{config: c, client: client, req: req, theirs: event.From(req.Context())}
	result, err := s.fetch() //nolint:contextcheck // the request has the context
	s.tell(result, err)
	return result, err
}
