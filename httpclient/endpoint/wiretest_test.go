package endpoint_test

import "github.com/headrace/headrace/internal/wiretest"

var (
	listen, says, stalls     = wiretest.Listen, wiretest.Says, wiretest.Stalls
	shows, noTrace, noCanary = wiretest.Shows, wiretest.NoTrace, wiretest.NoCanary
)
