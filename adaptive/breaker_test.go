package adaptive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/throttle"
)

// No refusal of ours opens a breaker.
func TestABreakerTakesNoRefusalForAFailure(t *testing.T) {
	for _, err := range []error{
		&adaptive.RateLimitHit{}, &adaptive.RateLimitHit{GivenUp: true}, adaptive.ErrQuotaExhausted, &throttle.DeadlineError{}, &throttle.LimitedError{},
	} {
		assert.Equal(t, breaker.Undecided, breaker.DefaultClassify(fmt.Errorf("x: %w", err)), "%v", err)
	}
	assert.EqualError(t, adaptive.ErrQuotaExhausted, "adaptive: quota exhausted")
}
