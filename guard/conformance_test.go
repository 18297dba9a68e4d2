package guard_test

import (
	"testing"

	"github.com/headrace/headrace/internal/guardtest"
)

func TestConformance(t *testing.T) { guardtest.Run(t, guardtest.Guard()) }
