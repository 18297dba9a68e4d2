package adaptive

import (
	"bytes"
	"net/http"
	"reflect"
)

// How other people's errors carry an answer: in methods or in exported fields,
// of a struct or of one that it embeds.

// statusIn returns the status that err itself has, 0 if it has none, and the header.
func statusIn(err error) (status int, h http.Header) {
	status = statusByMethod(err)
	defer survive()
	v := structOf(err)
	if !v.IsValid() {
		return status, nil
	}
	r := responseIn(v) //nolint:bodyclose // its body is not ours
	h, _ = field[http.Header](v, "Header")
	if r != nil {
		h = r.Header
	}
	if status == 0 {
		status = httpStatus(number(v, "StatusCode"))
	}
	if status == 0 {
		status = httpStatus(number(v, "HTTPStatusCode"))
	}
	if status == 0 && r != nil {
		status = httpStatus(r.StatusCode)
	}
	// Errors of SMTP and FTP have a Code too, but no Message.
	if code := number(v, "Code"); status == 0 && code >= http.StatusBadRequest && v.FieldByName("Message").IsValid() {
		status = httpStatus(code)
	}
	return status, h
}

func statusByMethod(err error) int {
	defer survive()
	switch e := err.(type) { //nolint:errorlint // walk visits each error by itself
	case interface{ StatusCode() int }:
		return httpStatus(e.StatusCode())
	case interface{ HTTPStatusCode() int }:
		return httpStatus(e.HTTPStatusCode())
	}
	return 0
}

// httpStatus is status if it is one of HTTP: other protocols number their answers too.
func httpStatus(status int) int {
	if status < 100 || status > 599 {
		return 0
	}
	return status
}

// responseIn finds the response of an SDK. That of AWS embeds the one of net/http.
func responseIn(v reflect.Value) *http.Response {
	for _, name := range [...]string{"Response", "RawResponse"} {
		if r, ok := field[*http.Response](v, name); ok {
			return r
		}
		if inner := reflect.Indirect(v.FieldByName(name)); inner.Kind() == reflect.Struct {
			if r, ok := field[*http.Response](inner, "Response"); ok {
				return r
			}
		}
	}
	return nil
}

// bodyIn returns the body that err itself has kept, or nil.
func bodyIn(err error) []byte {
	defer survive()
	if e, ok := err.(interface{ RawJSON() string }); ok {
		return orNil([]byte(e.RawJSON()))
	}
	v := structOf(err)
	if !v.IsValid() {
		return nil
	}
	if text, ok := field[string](v, "Body"); ok {
		return orNil([]byte(text))
	}
	raw, _ := field[[]byte](v, "Body")
	return orNil(bytes.Clone(raw))
}

func orNil(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return body
}

// structOf returns the struct that err is or points to, the zero Value if it is none.
func structOf(err error) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v
}

// field returns the field of that name if there is one of that type.
func field[T any](v reflect.Value, name string) (x T, ok bool) {
	f := v.FieldByName(name)
	if !f.IsValid() {
		return x, false
	}
	return reflect.TypeAssert[T](f)
}

func number(v reflect.Value, name string) int {
	if f := v.FieldByName(name); f.IsValid() && f.CanInt() {
		return int(f.Int())
	}
	return 0
}
