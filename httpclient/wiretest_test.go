package httpclient_test

import "github.com/headrace/headrace/internal/wiretest"

var (
	listen, after, says, stalls = wiretest.Listen, wiretest.After, wiretest.Says, wiretest.Stalls
	shows, noTrace, noCanary    = wiretest.Shows, wiretest.NoTrace, wiretest.NoCanary
)
