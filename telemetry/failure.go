package telemetry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// failureType is what error.type is for flows, nodes, items and attempts. It is one of a few:
// errors are of as many types as the program has.
func failureType(err error) (kind string) {
	defer func() {
		if recover() != nil { // the methods of err are user code
			kind = other
		}
	}()
	if kind := errorType(err); kind != other {
		return kind
	}
	type limited interface {
		error
		RateLimited() bool
	}
	if e, ok := errors.AsType[limited](err); ok && e.RateLimited() {
		return "rate_limited"
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	default:
		return typeName(err)
	}
}

// typeName is the type of the first error in err that is more than text around another.
func typeName(err error) string {
	around := reflect.TypeOf(fmt.Errorf("%w", context.Canceled))
	for reflect.TypeOf(err) == around {
		err = errors.Unwrap(err)
	}
	if err == nil {
		return other
	}
	return reflect.TypeOf(err).String()
}
