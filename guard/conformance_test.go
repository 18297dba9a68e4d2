package guard_test

import (
	"testing"

	"github.com/headrace/headrace/guard/guardtest"
)

func TestConformance(t *testing.T) { guardtest.Run(t, guardtest.Guard()) }
