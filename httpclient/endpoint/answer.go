package endpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/headrace/headrace/httpclient"
)

// Answer is the result of one call of a Caller.
type Answer struct {
	Endpoint string // its name
	ID       string // of the request, as in event.Request

	Method        string      // of HTTP; empty for a function, as the next three
	URL           string      // without query values
	RequestHeader http.Header // set by the endpoint, with secret values redacted
	Payload       []byte      // as sent

	StatusCode int         // 0 without a response
	Header     http.Header // of the response
	Body       []byte      // decompressed; at most 64 KiB if the status is not 2xx
	Value      any         // the result of a function

	Attempts int           // 0 if none was started
	Waited   time.Duration // until the first attempt, mostly for admission
	Elapsed  time.Duration // of the whole call
}

// Decode stores the answer in v, a pointer: the Value if its type fits, otherwise the JSON of Body or
// Value.
func (a *Answer) Decode(v any) error {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("endpoint: %s: Decode wants a pointer that is not nil, and got a %T", a.Endpoint, v)
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
		return fmt.Errorf("endpoint: %s: the answer cannot be decoded into a %T: %w", a.Endpoint, v, err)
	}
	return nil
}

// Get calls c and decodes the answer into a T, as [Answer.Decode] does. Its errors are those of Call and Decode; the T is then
// the zero value. For a GET endpoint the payload is nil or [Params].
func Get[T any](ctx context.Context, c Caller, payload any) (T, error) {
	var v T
	a, err := c.Call(ctx, payload)
	if err == nil {
		err = a.Decode(&v)
	}
	if err != nil {
		return *new(T), err
	}
	return v, nil
}

// learn copies what resp, or the error of a request, reports about the call.
func (a *Answer) learn(resp *http.Response, err error) {
	if failed, ok := errors.AsType[*httpclient.Error](err); ok {
		a.ID, a.Attempts, a.StatusCode = failed.ID, failed.Attempt, failed.StatusCode
		a.Header, a.Body, a.Waited = failed.Header, failed.Body, cmp.Or(seen().Waited(failed), a.Waited)
	}
	if resp == nil {
		return
	}
	a.StatusCode, a.Header = resp.StatusCode, resp.Header
	if id, attempts, waited, ok := seen().Call(resp); ok {
		a.ID, a.Attempts, a.Waited = id, attempts, waited
	}
}
