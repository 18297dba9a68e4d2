package httpclient

import (
	"net/http"
	"net/url"
)

// Client is a client of one service. All methods are safe for concurrent use.
type Client struct {
	config    Config
	conns     *connections
	watch     *watch
	ids       *ids
	agent     []string // as headers hold it, and so
	run       []string
	transport *http.Transport
	gate      *gate // may be nil
	standard  *http.Client
}

// New returns a client, which opens connections as needed. The error joins a *fault.FieldError for
// each problem. Close the client after use.
func New(c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	client := &Client{
		config: c, conns: newConnections(c.Timeouts.BodyIdle), watch: newWatch(c.Timeouts), ids: newIDs(),
		agent: []string{c.UserAgent}, run: []string{c.RunID},
	}
	client.transport = newTransport(c, client.conns)
	if client.config.Gate != nil {
		client.gate = newGate(*client.config.Gate, client.config.Proxies)
	}
	trip, err := client.config.stack(&inner{client})
	if err != nil {
		return nil, err
	}
	client.standard = &http.Client{
		Transport:     &outer{client, trip},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

// Standard returns the client as an *http.Client, for SDKs, always the same one. Do not change it; its
// Timeout would include waits for admission.
//
// Its errors are a *url.Error around the *Error. The text of a *url.Error contains the whole URL: add
// a key in the query with Config.Sign, which net/http does not see.
func (c *Client) Standard() *http.Client { return c.standard }

// Do sends req and returns the response, whatever its status. Errors, also those of reading the body,
// have an *Error in their tree. Do waits as long as Config.Wrap does and then at most Timeouts.Call.
// Close the body of the response.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.standard.Do(req)
	if err == nil {
		return resp, nil
	}
	if outside, ok := err.(*url.Error); ok { //nolint:errorlint // the one that http.Client puts around, and no other
		err = outside.Err
	}
	if isA[*Error](err) {
		return nil, err
	}
	return nil, c.foreign(req, err)
}

// foreign wraps an error of http.Client itself: an invalid request, rejected before anything is sent.
func (c *Client) foreign(req *http.Request, err error) *Error {
	shown := req
	if req.URL == nil {
		shown = req.Clone(req.Context())
		shown.URL = &url.URL{}
	}
	return newCall(c, shown).fail(CodeUnsent, PhasePrepare, err, nil)
}

// Close closes every connection. Running and later requests fail with an error that matches ErrClosed;
// a request that waits in Config.Wrap fails after its wait. Close does not block and may be called
// again.
func (c *Client) Close() {
	c.conns.closeAll()
	for _, a := range c.watch.all() {
		a.cancel(ErrClosed)
	}
	c.transport.CloseIdleConnections()
}
