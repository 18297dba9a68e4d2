package inflight

import "github.com/headrace/headrace/internal/clienttrace"

// IsTrace is clienttrace.Is, for the contexts of attempts.
func IsTrace(key any) bool { return clienttrace.Is(key) }
