package fault_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/fault"
)

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"throttle: Max: 1 is below 2": &fault.FieldError{Owner: "throttle", Field: "Max", Problem: "1 is below 2"},
		"headrace: panic: text":       &fault.PanicError{Value: "text", Stack: []byte("stack")},
		"headrace: the call did not return within 1s of the end of its context: EOF": &fault.HungError{After: time.Second, Cause: io.EOF},
	} {
		assert.EqualError(t, err, want)
	}
}

func TestErrorsUnwrap(t *testing.T) {
	assert.ErrorIs(t, &fault.PanicError{Value: io.EOF}, io.EOF)
	assert.NoError(t, errors.Unwrap(&fault.PanicError{Value: "text"}))
	assert.ErrorIs(t, &fault.HungError{Cause: io.EOF}, io.EOF)
}
