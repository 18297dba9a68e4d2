package redisstore_test

import (
	"testing"

	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

func TestMain(m *testing.M) {
	if !wasReplica() {
		redistest.Main(m)
	}
}
