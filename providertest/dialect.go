package providertest

import (
	"net/http"
	"strconv"
	"time"
)

// Dialect is a format of errors and rate-limit fields. It is independent of the route, since many
// providers have OpenAI's routes.
type Dialect uint8

// The dialects.
const (
	ByRoute   Dialect = iota // Anthropic's on /v1/messages, OpenAI's elsewhere
	OpenAI                   // x-ratelimit-*-requests and -tokens; resets such as 6m0s
	Azure                    // OpenAI's fields; resets in seconds
	Anthropic                // anthropic-ratelimit-*; resets as RFC 3339; tokens rounded to thousands
	Gemini                   // no fields at all; a google.rpc.Status with the wait
	Mistral                  // x-ratelimit-*-req-minute and -tokens-minute, no reset; the tokens charged
	Groq                     // OpenAI's fields; 413 for what is too large
	IETF                     // RateLimit and RateLimit-Policy, of requests; problem details (RFC 9457)
	Generic                  // X-RateLimit-Limit, -Remaining and -Reset, of requests; resets in seconds
)

func (d Dialect) validate() error {
	if d > Generic {
		return &configError{Field: "Dialect", Problem: "must be one of the package's dialects"}
	}
	return nil
}

// speech is what the server needs of a dialect.
type speech struct {
	requestID string // the field that names the request
	errorType string // the Content-Type of errors
	noWait    bool   // no Retry-After is sent
	refusal   func(cause) (status int, ok bool)
	limits    func(http.Header, advice)
	failure   func(f *failure, told time.Duration) any
	total     func(input, output int) int // what a limit on all tokens counts
	reserve   func(input, output int) int // what it takes at the arrival; nil: total
}

// speech returns the dialect's own, for a route.
func (d Dialect) speech(path string) speech {
	if d == ByRoute && path == messagesRoute().path {
		d = Anthropic
	}
	s := openAI()
	switch d {
	case Azure:
		s = azure()
	case Anthropic:
		s = anthropic()
	case Gemini:
		s = gemini()
	case Mistral:
		s = mistral()
	case Groq:
		s = groq()
	case IETF:
		s = ietf()
	case Generic:
		s = generic()
	case ByRoute, OpenAI:
	}
	if s.reserve == nil {
		s.reserve = s.total
	}
	return s
}

// status returns the default status of a failure.
func (s speech) status(c cause) int {
	if s.refusal != nil {
		if status, ok := s.refusal(c); ok {
			return status
		}
	}
	return c.status()
}

// reserved is what a request takes at its arrival.
func (s speech) reserved(req Request) Tokens {
	return Tokens{Total: s.reserve(req.PromptTokens, req.MaxTokens), Input: req.PromptTokens, Output: req.MaxTokens}
}

// used returns what a call with an answer of output tokens has consumed.
func (s speech) used(req Request, output int) Tokens {
	return Tokens{Total: s.total(req.PromptTokens, output), Input: req.PromptTokens, Output: output}
}

func sum(input, output int) int { return input + output }

func set(h http.Header, name string, n int) { h.Set(name, strconv.Itoa(n)) }

// setRetryAfter adds the wait in the form that the configuration asks for.
func setRetryAfter(h http.Header, told time.Duration, form RetryAfter) {
	if form == RetryAfterMillis {
		h.Set("Retry-After-Ms", strconv.FormatInt(ceil(told, time.Millisecond), 10))
	}
	if form != noRetryAfter {
		h.Set("Retry-After", strconv.FormatInt(ceil(told, time.Second), 10))
	}
}
