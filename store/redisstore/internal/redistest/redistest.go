// Package redistest runs Redis servers, clusters and processes that use them, for tests.
package redistest

import (
	"testing"

	"github.com/headrace/headrace/internal/redisserver"
)

// Server is a redis-server of the test's own.
type Server struct{ *redisserver.Server }

// Start starts a server as redisserver.Start does.
func Start(tb testing.TB, config ...string) *Server {
	tb.Helper()
	return &Server{redisserver.Start(tb, config...)}
}
