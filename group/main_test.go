package group_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if !wasMember() {
		goleak.VerifyTestMain(m)
	}
}
