package inflight

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// StoreTimeout is how long a store is given to answer.
const StoreTimeout = 5 * time.Second

// ErrStoreSlow is the cause of a context that has ended because the store took longer than that.
var ErrStoreSlow = errors.New("no answer within " + StoreTimeout.String())

// ErrStoreClosed is the error of a store after its Close. It matches os.ErrClosed.
var ErrStoreClosed error = storeClosedError{}

type storeClosedError struct{}

func (storeClosedError) Error() string { return "the store is closed" }

func (storeClosedError) Is(target error) bool { return target == os.ErrClosed }

// StoreError is the error of a call that was not admitted because the store of its guard has failed.
type StoreError struct {
	Guard string
	Kind  string // of the store
	Err   error
}

// Error implements error.
func (e *StoreError) Error() string {
	return fmt.Sprintf("guard %q: its store %s: %v", e.Guard, e.Kind, e.Err)
}

// Unwrap returns the error of the store.
func (e *StoreError) Unwrap() error { return e.Err }
