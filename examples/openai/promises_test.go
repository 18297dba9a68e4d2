package main

import (
	"testing"

	"github.com/headrace/headrace"
)

// A client that was left to retry by itself is told once.
func TestSDKRetriesAreNoticed(t *testing.T) { suite().RetriesAreNoticed(t, headrace.SDKRetries) }

// What the limiter itself says comes through the SDK.
func TestErrorsOfTheLimiter(t *testing.T) { suite().LimiterErrors(t) }

// A redirect takes no key along to another host, whoever follows it: net/http
// strips Authorization, and this SDK stops. With httpclient nobody follows, and
// the error says so.
func TestRedirectKeepsTheKey(t *testing.T) { suite().RedirectIsNotFollowed(t) }

// The key is in nothing that is told, logged, printed or returned.
func TestTheKeyIsNeverTold(t *testing.T) { suite().KeyIsNeverTold(t) }
