package panics_test

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/panics"
)

func call(f func() error) (err error) {
	defer panics.Catch(&err)
	return f()
}

func TestCatch(t *testing.T) {
	require.NoError(t, call(func() error { return nil }))
	require.Equal(t, io.EOF, call(func() error { return io.EOF }))

	err := call(func() error { panic("boom") })
	panicked, ok := errors.AsType[*fault.PanicError](err)
	require.True(t, ok)
	assert.Equal(t, "boom", panicked.Value)
	assert.Contains(t, string(panicked.Stack), "TestCatch", "the stack is that of the panic")
	assert.Same(t, err, call(func() error { panic(err) }), "a panic that was caught before keeps its stack")

	assert.ErrorAs(t, call(func() error { panic(nil) }), new(*runtime.PanicNilError))
}

func TestCatchLeavesGoexitAlone(t *testing.T) {
	err := io.EOF
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer panics.Catch(&err)
		runtime.Goexit()
	}()
	<-done
	assert.Equal(t, io.EOF, err)
}
