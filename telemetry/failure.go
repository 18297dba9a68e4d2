package telemetry

import (
	"context"
	"errors"
	"go/token"
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

// typeName is the type of the first error in err that is more than text around
// another: a type without an exported name, such as that of fmt.Errorf, is not.
func typeName(err error) string {
	for err != nil && private(reflect.TypeOf(err)) {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	if err == nil {
		return other
	}
	return reflect.TypeOf(err).String()
}

func private(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return !token.IsExported(t.Name())
}
