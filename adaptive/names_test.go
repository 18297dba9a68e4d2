package adaptive_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// named is an error of the kind that carries other people's names.
type named struct{ err error }

func (e *named) Error() string { return `node "ask the rate limited API": ` + e.err.Error() }

func (e *named) Unwrap() error { return e.err }

func TestNamesAreNoRefusals(t *testing.T) {
	for _, err := range []error{
		&named{errors.New("bad JSON")},
		fmt.Errorf("too many requests in file: %w", errors.New("bad JSON")),
		&fs.PathError{Op: "open", Path: "ratelimit.csv", Err: fs.ErrNotExist},
		&throttle.LimitedError{Limiter: "rate limit"},
	} {
		assert.Equal(t, adaptive.Unclassified, adaptive.DefaultDetector(err).Verdict, "%v", err)
	}
	for _, err := range []error{
		&named{errors.New("429 Too Many Requests")},
		errors.Join(errors.New("bad JSON"), errors.New("rate limit reached")),
	} {
		assert.Equal(t, adaptive.Hit, adaptive.DefaultDetector(err).Verdict, "%v", err)
	}
}
