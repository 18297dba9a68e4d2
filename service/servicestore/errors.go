package servicestore

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// UnavailableError is returned while the server, or its store, is unavailable. The call may or may not have been
// counted.
type UnavailableError struct {
	RetryAfter time.Duration // when to try again, between 0 and 24 h; 0 if it is not known
	Problem    string        // what the server or the connection reports
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("servicestore: unavailable, retry after %s: %s", e.RetryAfter, e.Problem)
	}
	return "servicestore: unavailable: " + e.Problem
}

const (
	slow          = "no answer in time"
	maxRetryAfter = 24 * time.Hour
)

// fault is the error of a call that gRPC has failed with err.
func (s *Store) fault(err error) error {
	if s.life.Err() != nil {
		return errClosed
	}
	st := status.Convert(err)
	for _, d := range st.Details() {
		if m, ok := d.(*pb.Error); ok {
			return problem(m)
		}
	}
	switch st.Code() {
	case codes.DeadlineExceeded:
		return &UnavailableError{Problem: slow}
	case codes.Unauthenticated, codes.PermissionDenied:
		return errors.New("servicestore: the server does not accept the token: give WithToken the one that it is configured with")
	case codes.Unimplemented:
		return errors.New("servicestore: " + st.Message())
	default:
		return &UnavailableError{Problem: st.Message()}
	}
}

// problem is the error of a message; nil without one.
func problem(m *pb.Error) error {
	if m == nil {
		return nil
	}
	if err := wire.Fault(m); err != nil {
		return err
	}
	if m.GetCode() == pb.Code_CODE_CANCELLED { // the server has seen the end of the timeout first
		return &UnavailableError{Problem: slow}
	}
	retry := min(max(m.GetRetryAfter().AsDuration(), 0), maxRetryAfter)
	return &UnavailableError{RetryAfter: retry, Problem: m.GetMessage()}
}
