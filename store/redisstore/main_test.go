package redisstore_test

import (
	"testing"

	"github.com/headrace/headrace/store/redisstore/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
