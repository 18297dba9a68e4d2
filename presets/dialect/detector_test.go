package dialect_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// fullError has what the errors of the official SDKs have.
type fullError struct {
	Code, Type string
	StatusCode int
	Response   *http.Response
	raw        string
}

func (e *fullError) Error() string   { return "sdk" }
func (e *fullError) RawJSON() string { return e.raw }

func answered(status int, header, raw string) *fullError {
	return &fullError{StatusCode: status, Response: &http.Response{StatusCode: status, Header: headerOf(header)}, raw: raw}
}

func TestDetector(t *testing.T) {
	refusal := answered(429, "Retry-After: 3\nx-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 0", `{"type":"tokens","code":"rate_limit_exceeded"}`)
	for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Auto, nil} {
		err := fmt.Errorf("item 7: %w", refusal)
		f := dialect.Detector(d)(err)
		assert.Equal(t, hit, f.Verdict)
		assert.Equal(t, adaptive.KindTokens, f.Kind)
		assert.Equal(t, 3*time.Second, f.RetryAfter)
		assert.Equal(t, int64(60), f.Meters[throttle.Requests].Limit)
		assert.Equal(t, err, f.Err)
	}
	detect := dialect.Detector(dialect.OpenAI)
	assert.Zero(t, detect(io.EOF), "not an answer")
	assert.Zero(t, detect(nil))
	assert.Equal(t, ok, detect(answered(400, "", `{"message":"no"}`)).Verdict)
	assert.Equal(t, terminal, detect(answered(429, "", `{"code":"insufficient_quota"}`)).Verdict)
}

func TestDetectorLeavesTheUsersOwnHitAlone(t *testing.T) {
	own := &adaptive.RateLimitHit{Kind: adaptive.KindTokens, Cause: answered(500, "", "")}
	assert.Zero(t, dialect.Detector(dialect.OpenAI)(fmt.Errorf("x: %w", own)))
	assert.Equal(t, hit, adaptive.Classify(dialect.Detector(dialect.OpenAI), own).Verdict)
}

// An error that keeps no body has its code in fields.
func TestDetectorWithoutABody(t *testing.T) {
	detect := dialect.Detector(dialect.OpenAI)
	e := answered(429, "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 0", "")
	assert.Equal(t, hit, detect(e).Verdict)
	assert.Equal(t, adaptive.KindTokens, detect(&fullError{StatusCode: 429, Type: "tokens"}).Kind)
	e.Code = "insufficient_quota"
	f := detect(e)
	assert.Equal(t, terminal, f.Verdict)
	assert.Zero(t, f.Kind)
	assert.True(t, f.Meters[throttle.Requests].Known)
	large := errors.Join(e, errors.New("request too large"))
	assert.Equal(t, terminal, detect(large).Verdict)
	assert.Equal(t, overloaded, dialect.Detector(dialect.Azure)(&fullError{StatusCode: 503}).Verdict)
}
