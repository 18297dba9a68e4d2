package engine

import (
	"errors"
	"strings"

	"github.com/headrace/headrace/adaptive"
)

// RemoteError is an error that was returned on another machine. It keeps the text, and whether the
// error is adaptive.ErrQuotaExhausted; other types and values are lost.
type RemoteError struct {
	Message string `json:"message"`
	Quota   bool   `json:"quota,omitempty"` // errors.Is finds adaptive.ErrQuotaExhausted
}

// Error returns the text.
func (e *RemoteError) Error() string { return e.Message }

// Is reports whether target is an error that RemoteError keeps.
func (e *RemoteError) Is(target error) bool { return e.Quota && target == adaptive.ErrQuotaExhausted }

// Remote returns err in the form in which it is sent; nil for nil.
func Remote(err error) (e *RemoteError) {
	if err == nil {
		return nil
	}
	if errors.As(err, &e) && e.Message == text(err) {
		return e
	}
	return &RemoteError{Message: text(err), Quota: isQuota(err)}
}

func isQuota(err error) (yes bool) {
	defer func() { _ = recover() }() // the methods of err are user code
	return errors.Is(err, adaptive.ErrQuotaExhausted)
}

// mostText bounds the text of an error that travels.
const mostText = 4 << 10

func text(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = "an error whose method Error panics"
		}
	}()
	if s = err.Error(); len(s) > mostText {
		s = s[:mostText] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD") // protocols of engines refuse other text
}
