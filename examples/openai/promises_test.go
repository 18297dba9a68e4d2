package main

import (
	"testing"

	"github.com/headrace/headrace"
)

// A client that still retries by itself is reported once.
func TestSDKRetriesAreNoticed(t *testing.T) { suite().RetriesAreNoticed(t, headrace.SDKRetries) }

// What the limiter itself says comes through the SDK.
func TestErrorsOfTheLimiter(t *testing.T) { suite().LimiterErrors(t) }

// A redirect never takes a key to another host: net/http
// strips Authorization, and this SDK stops. With httpclient, redirects are not followed, and
// the error says so.
func TestRedirectKeepsTheKey(t *testing.T) { suite().RedirectIsNotFollowed(t) }

// The key is in nothing that is reported, logged, printed or returned.
func TestTheKeyIsNeverTold(t *testing.T) { suite().KeyIsNeverTold(t) }
