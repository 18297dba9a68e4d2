package sdks_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/headrace/headrace/providertest"
)

const (
	base   = "http://provider.test" // a provider without a socket
	letter = "~"                    // of uploads, and of nothing else
)

// service answers all SDKs with "hello", within the hidden limits of a provider.
type service struct {
	provider *providertest.Server

	mu      sync.Mutex // guards all below
	refuse  int        // so many requests, before the provider is asked
	after   string     // their Retry-After
	status  int        // of every answer, unless 0
	refused int        // requests with status 429
	sizes   []int      // of the text in uploads, those with a 429 too
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	n := bytes.Count(body, []byte(letter))
	if strings.Contains(r.URL.Path, "upload") || strings.Contains(r.URL.Path, "files") {
		s.sizes = append(s.sizes, n)
	}
	status, refuses, after := s.status, s.refuse > 0, s.after
	s.refuse--
	s.mu.Unlock()
	switch {
	case status != 0:
		s.say(w, status, `{"error":{"message":"No.","code":400}}`)
		return
	case refuses:
		w.Header().Set("Retry-After", after)
		s.say(w, http.StatusTooManyRequests, `{}`)
		return
	}
	if status, after := s.ask(r); status != http.StatusOK {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		s.say(w, status, `{"error":{"message":"No.","type":"rate_limit_error"}}`)
		return
	}
	s.answer(w, r, bytes.Contains(body, []byte(`"stream":true`)))
}

// ask has the provider judge the request.
func (s *service) ask(r *http.Request) (status int, retryAfter string) {
	ask, err := http.NewRequestWithContext(r.Context(), http.MethodPost, base+"/v1/chat/completions",
		strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello?"}]}`))
	if err != nil {
		panic(err)
	}
	resp, err := s.provider.Transport().RoundTrip(ask)
	if err != nil {
		return http.StatusBadGateway, ""
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

func (s *service) say(w http.ResponseWriter, status int, body string) {
	if status == http.StatusTooManyRequests {
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (s *service) answer(w http.ResponseWriter, r *http.Request, streams bool) {
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/openai/v1/chat"):
		if streams {
			s.events(w, `data: {"choices":[{"index":0,"delta":{"content":"hel"}}]}`, `data: {"choices":[{"index":0,"delta":{"content":"lo"}}]}`, "data: [DONE]")
			return
		}
		s.say(w, http.StatusOK, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"}}],"usage":{"total_tokens":4}}`)
	case strings.HasPrefix(path, "/anthropic/v1/messages"):
		if streams {
			s.events(w,
				"event: message_start\n"+`data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
				"event: content_block_delta\n"+`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`,
				"event: message_stop\n"+`data: {"type":"message_stop"}`)
			return
		}
		s.say(w, http.StatusOK, `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":3,"output_tokens":1}}`)
	case strings.HasSuffix(path, ":generateContent"):
		s.say(w, http.StatusOK, `{"candidates":[{"content":{"parts":[{"text":"hello"}]}}],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":4}}`)
	case strings.HasSuffix(path, ":streamGenerateContent"):
		s.events(w, `data: {"candidates":[{"content":{"parts":[{"text":"hel"}]}}]}`, `data: {"candidates":[{"content":{"parts":[{"text":"lo"}]}}]}`)
	case strings.HasPrefix(path, "/google/upload"):
		w.Header().Set("X-Goog-Upload-Status", "active")
		if w.Header().Set("X-Goog-Upload-Url", base+"/google/upload/next"); path == "/google/upload/next" {
			w.Header().Set("X-Goog-Upload-Status", "final")
		}
		s.say(w, http.StatusOK, `{"file":{"name":"files/1"}}`)
	case strings.HasSuffix(path, "/stream"):
		for _, part := range []string{"hel", "lo"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	case strings.HasSuffix(path, "/call"):
		_, _ = io.WriteString(w, "hello")
	default:
		s.say(w, http.StatusOK, `{"id":"f","type":"file"}`)
	}
}

func (s *service) events(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, one := range events {
		_, _ = io.WriteString(w, one+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
}
