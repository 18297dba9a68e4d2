package httpclient

import (
	"errors"
	"net/http"
	"strings"
)

// ownError is a fault of this side's: what it looks like says nothing about the other side, nor about the network.
type ownError struct {
	code Code
	err  error
}

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }

// unsent is for what fails before anything is sent.
func unsent(err error) error {
	if err == nil {
		return nil
	}
	return &ownError{CodeUnsent, err}
}

// ownFault is why this side is to blame for err, or nil.
func (a *attempt) ownFault(err error) *ownError {
	if own, ok := err.(*ownError); ok { //nolint:errorlint // as prepare made it; one inside is of another client
		return own
	}
	return a.own.Load()
}

// writable finds what net/http refuses only when it has a connection.
func writable(req *http.Request) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if strings.ContainsFunc(req.URL.Opaque, control) || strings.ContainsFunc(req.URL.RawQuery, control) {
		return errors.New("the URL has a control character in it; escape it")
	}
	return nil
}
