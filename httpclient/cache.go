package httpclient

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/headrace/headrace/internal/invalid"
)

// stack puts Wrap and Cache around trip.
func (c Config) stack(trip http.RoundTripper) (http.RoundTripper, error) {
	problems := invalid.Problems{Owner: "httpclient"}
	put := func(field string, wrap func(http.RoundTripper) http.RoundTripper) {
		around := wrap(trip)
		if invalid.Nil(around) {
			problems.Addf(field, "returned nil; want a round tripper")
			return
		}
		if r, ok := around.(*retrier); ok {
			problems.Add(r.problems.Err())
		}
		trip = around
	}
	for i, wrap := range slices.Backward(c.Wrap) {
		put(fmt.Sprintf("Wrap[%d]", i), wrap)
	}
	if c.Cache != nil {
		put("Cache", c.Cache)
	}
	return trip, problems.Err()
}

var errNoAnswer = errors.New("httpclient: a round tripper in Config.Cache or Config.Wrap returned neither an answer nor an error")

// checked holds a round tripper, which may be anybody's, to the rules.
func checked(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil && resp != nil && resp.Body != nil:
		_ = resp.Body.Close() // nobody will read it
		return nil, err
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoAnswer
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	return resp, nil
}

// receive counts what was read of an answer's body, holds one that did not
// come from the wire to Config.MaxResponse, and gives an error its type.
func (c *call) receive(n int, err error) (int, error) {
	limit := c.client.config.MaxResponse
	if over := c.received.Add(int64(n)) - limit; over > 0 {
		c.received.Add(-over)
		n, err = n-int(over), &tooLongError{"MaxResponse", limit}
	}
	if err == nil || err == io.EOF || isA[*Error](err) { //nolint:errorlint // the bare EOF is the end
		return n, err
	}
	if ctx := c.req.Context(); ctx.Err() != nil {
		return n, c.fail(CodeCanceled, PhaseBody, ended(ctx), nil)
	}
	return n, c.fail(classify(PhaseBody, err), PhaseBody, err, nil)
}
