package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// chatRoute is OpenAI's chat completions.
func chatRoute() route {
	return route{path: "/v1/chat/completions", parse: parseChat, answer: chatAnswer, events: chatEvents}
}

// chatRequest is what the route reads of a request; it ignores all else.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	MaxTokens           *int          `json:"max_tokens"`
	MaxCompletionTokens *int          `json:"max_completion_tokens"` // the newer name, preferred
	Stream              bool          `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role    string   `json:"role"`
	Content chatText `json:"content"`
}

// chatText is a message's content: a string, a list of parts, or null.
type chatText string

// UnmarshalJSON keeps the text and passes over images, audio and files.
func (t *chatText) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil { // null leaves it empty
		*t = chatText(text)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &parts) != nil {
		return errors.New("content must be a string or a list of parts")
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text)
	}
	*t = chatText(b.String())
	return nil
}

// parseChat fills req from a request's body.
func parseChat(body []byte, req *Request) *failure {
	var in chatRequest
	if bad := decode(body, &in); bad != nil {
		return bad
	}
	limit := in.MaxTokens
	if in.MaxCompletionTokens != nil {
		limit = in.MaxCompletionTokens
	}
	switch {
	case in.Model == "":
		return invalid("model", "You must provide a model parameter.")
	case len(in.Messages) == 0:
		return invalid("messages", "You must provide at least one message.")
	case limit != nil && *limit < 1:
		return invalid("max_tokens", "max_tokens must be at least 1.")
	case limit != nil && *limit > mostTokens:
		return invalid("max_tokens", fmt.Sprintf("max_tokens is too large: %d. The most is %d.", *limit, mostTokens))
	}
	req.Model, req.Stream, req.usage = in.Model, in.Stream, in.StreamOptions.IncludeUsage
	if limit != nil {
		req.MaxTokens = *limit
	}
	req.setMessages(in.Messages)
	return nil
}

// setMessages adds a conversation and charges for all there is of it.
func (r *Request) setMessages(messages []chatMessage) {
	for _, m := range messages {
		r.Messages = append(r.Messages, Message{Role: m.Role, Content: string(m.Content)})
	}
	r.PromptTokens = promptTokens(r.Messages)
}

// decode reads a JSON body of any route.
func decode(body []byte, into any) *failure {
	err := json.Unmarshal(body, into)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return invalid(mistyped.Field, fmt.Sprintf("Invalid type for '%s': a JSON %s.", mistyped.Field, mistyped.Value))
	case err != nil:
		return invalid("", "We could not parse the JSON body of your request: "+err.Error())
	}
	return nil
}
