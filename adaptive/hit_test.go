package adaptive_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
)

// nilError has a method that panics.
type nilError struct{ inner *fmt.Stringer }

func (e nilError) Error() string { return (*e.inner).String() }
func (e nilError) Unwrap() error { panic("unwrapped") }

func TestWhatIsRefused(t *testing.T) {
	for err, want := range map[error]bool{
		nil:    false,
		io.EOF: false,
		fmt.Errorf("call: %w", &adaptive.RateLimitHit{}):          true,
		fmt.Errorf("call: %w", adaptive.ErrQuotaExhausted):        true,
		&adaptive.RateLimitHit{Cause: adaptive.ErrQuotaExhausted}: true,
		nilError{}: false,
	} {
		assert.Equal(t, want, adaptive.Refused(err))
	}
}
