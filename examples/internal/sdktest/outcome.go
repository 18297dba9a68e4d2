package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
)

// Outcome is what a caller of the SDK gets.
type Outcome struct {
	Text   string // the decoded answer or, of a stream, what each event says, with bars between
	Tokens int64
	Err    string // see kind; "api" of an error that the provider answered with
	Status int    // of that
	Code   string // likewise
	Calls  int    // that the provider saw
}

// outcome makes a call. It does not know of Calls.
func (s Suite) outcome(ctx context.Context, call Call, stream bool) (Outcome, error) {
	text, tokens, err := call(ctx, stream)
	o := Outcome{Text: text, Tokens: tokens}
	if api := s.API(err); api != nil {
		o.Err, o.Status, o.Code = "api", api.Status, api.Code
	} else if o.Err = s.Kind(err); o.Err == "" {
		o.Err = kind(err)
	}
	return o, err
}

// kind names an error as a caller would find it out.
func kind(err error) string {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil:
		return ""
	case syntax, errors.Is(err, io.ErrUnexpectedEOF) && strings.Contains(err.Error(), "json"):
		return "json"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected EOF"
	case errors.Is(err, io.EOF):
		return "EOF"
	default:
		return err.Error()
	}
}
