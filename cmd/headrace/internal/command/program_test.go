package command_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/cmd/headrace/internal/command"
)

func TestPatienceOfAnyGraceIsNotNegative(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Minute, math.MaxInt64} {
		assert.Greater(t, command.Patient(grace), grace-1, grace)
	}
}
