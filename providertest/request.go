package providertest

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"
)

// Request is one well-formed call, for Reply and Fault.
type Request struct {
	// Key is the item that the client works on: the header Idempotency-Key, else X-Client-Request-Id, or
	// the result of [Config.KeyOf]. All attempts at one item should have the same key.
	Key string
	// Path is the route, such as "/v1/chat/completions".
	Path string
	// Model is the requested model; any name is served.
	Model string
	// Messages is the conversation, never empty. Anthropic's system prompt is the first message; an input
	// for embeddings is a message with the role "input".
	Messages []Message
	// MaxTokens bounds the reply; 0 means no bound.
	MaxTokens int
	// PromptTokens is the charge for the messages: a token for every four characters begun, and four for
	// each message except embedding inputs.
	PromptTokens int
	// Stream reports whether server-sent events are requested.
	Stream bool
	// Header is a copy of the request's header.
	Header http.Header

	usage      bool // of a streamed chat: send the usage at its end
	dimensions int  // of embeddings
	base64     bool // of embeddings
}

// Message is one turn of a conversation.
type Message struct {
	Role    string // "system", "user", "assistant", ...
	Content string // the text; the text parts joined where it came in parts
}

// mostTokens bounds the max_tokens of a request, so that no sum of tokens overflows.
const mostTokens = 1 << 28

// maxBody bounds a request's body, in bytes.
const maxBody = 4 << 20

// readRequest routes, reads and parses one HTTP request. The request it returns
// has its Key and Header also when there is a failure.
func (s *Server) readRequest(w http.ResponseWriter, r *http.Request) (Request, route, *failure) {
	req := Request{
		Key:    cmp.Or(r.Header.Get("Idempotency-Key"), r.Header.Get("X-Client-Request-Id")),
		Path:   r.URL.Path,
		Header: r.Header.Clone(),
	}
	to, ok := routeOf(r.URL.Path)
	if !ok {
		return req, to, unknownRoute(r)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return req, to, wrongMethod(r)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return req, to, bodyTooLarge(tooLarge.Limit)
	case err != nil:
		return req, to, invalid("", "The request body could not be read.")
	}
	bad := to.parse(body, &req)
	if bad == nil && s.config.KeyOf != nil {
		req.Key, bad = guard("KeyOf", func() string { return s.config.KeyOf(req) })
	}
	return req, to, bad
}

// textTokens estimates the tokens of a text: one for every four characters begun.
func textTokens(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

// promptTokens estimates the tokens of a conversation.
func promptTokens(messages []Message) int {
	n := 0
	for _, m := range messages {
		n += 4 + textTokens(m.Content)
	}
	return n
}

// cutTokens returns text, cut to at most n tokens, and whether it had to be cut;
// n = 0 cuts nothing.
func cutTokens(text string, n int) (string, bool) {
	if n == 0 || textTokens(text) <= n {
		return text, false
	}
	runes := 0
	for i := range text {
		if runes == 4*n {
			return text[:i], true
		}
		runes++
	}
	return text, false
}
