package httpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"
)

// Answer is what became of one call of an endpoint. That of a failed call has as much as there was.
type Answer struct {
	Endpoint string // its name
	ID       string // of the request, as in event.Request; empty if none was made

	Method        string      // of HTTP; empty for a function, as the next three
	URL           string      // without the values of its query
	RequestHeader http.Header // what the endpoint set and signed with, without the values that may be secret
	Payload       []byte      // what was sent, or was to be

	StatusCode int         // of HTTP; 0: there is none
	Header     http.Header // of the answer
	Body       []byte      // decompressed, at most MaxResponse; 64 KiB if the status is not 2xx
	Value      any         // what the function of a FuncEndpoint returned

	Attempts int           // how many attempts were begun; 0: none
	Waited   time.Duration // until the first attempt, in limiters above all; 0: there was none
	Elapsed  time.Duration // of the whole call, waits and all attempts
}

// Decode puts the answer into what v points to: the Value of a function if it
// fits, and otherwise the JSON of Body or of that Value.
func (a *Answer) Decode(v any) error {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("httpclient: %s: Decode wants a pointer that is not nil, and got a %T", a.Endpoint, v)
	}
	if value := reflect.ValueOf(a.Value); value.IsValid() && value.Type().AssignableTo(to.Type().Elem()) {
		to.Elem().Set(value)
		return nil
	}
	body, err := a.Body, error(nil)
	if len(body) == 0 && a.Value != nil {
		body, err = json.Marshal(a.Value)
	}
	if err == nil && len(body) == 0 {
		err = errors.New("there is no body")
	}
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		return fmt.Errorf("httpclient: %s: the answer cannot be decoded into a %T: %w", a.Endpoint, v, err)
	}
	return nil
}

// learn takes over what resp, or the error of a request, tells about the call.
func (a *Answer) learn(resp *http.Response, err error) {
	if failed, ok := errors.AsType[*Error](err); ok {
		a.ID, a.Attempts, a.StatusCode = failed.ID, failed.Attempt, failed.StatusCode
		a.Header, a.Body, a.Waited = failed.Header, failed.Body, cmp.Or(failed.waited, a.Waited)
	}
	if resp == nil {
		return
	}
	a.StatusCode, a.Header = resp.StatusCode, resp.Header
	var c *call
	if b, ok := resp.Body.(*callBody); ok {
		c = b.call
	} else if resp.Request != nil {
		c = callOf(resp.Request.Context())
	}
	if c != nil {
		a.ID, a.Attempts, a.Waited = c.id, int(c.attempts.Load()), time.Duration(c.waited.Load())
	}
}
