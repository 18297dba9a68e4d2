package httpclient

import (
	"errors"
	"fmt"
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

// checked enforces the contract of http.RoundTripper on one that may be foreign code.
func checked(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil && resp != nil && resp.Body != nil:
		_ = resp.Body.Close() // it is not read
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
