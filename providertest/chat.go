package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// chatPath is the one route: OpenAI's chat completions.
const chatPath = "/v1/chat/completions"

// chatRequest is what the route reads of a request; it ignores all else.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	MaxTokens           *int          `json:"max_tokens"`
	MaxCompletionTokens *int          `json:"max_completion_tokens"` // the newer name, preferred
	Stream              bool          `json:"stream"`
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
	err := json.Unmarshal(body, &in)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return invalid(mistyped.Field, fmt.Sprintf("Invalid type for '%s': a JSON %s.", mistyped.Field, mistyped.Value))
	case err != nil:
		return invalid("", "We could not parse the JSON body of your request: "+err.Error())
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
	case in.Stream:
		return invalid("stream", "This server does not stream.")
	}
	req.Model = in.Model
	if limit != nil {
		req.MaxTokens = *limit
	}
	for _, m := range in.Messages {
		req.Messages = append(req.Messages, Message{Role: m.Role, Content: string(m.Content)})
	}
	req.PromptTokens = promptTokens(req.Messages)
	return nil
}

// chatAnswer is the body of an answer that is not streamed.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"` // Unix seconds
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   chatUsage    `json:"usage"`
}

type chatChoice struct {
	Index        int       `json:"index"`
	Message      chatReply `json:"message"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

type chatReply struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// newChatAnswer wraps a reply to req, the server's seq-th arrival.
func newChatAnswer(req Request, reply string, seq int64, now time.Time) chatAnswer {
	finish := "stop"
	reply, cut := cutTokens(reply, req.MaxTokens)
	if cut {
		finish = "length"
	}
	completion := textTokens(reply)
	return chatAnswer{
		ID:      fmt.Sprintf("chatcmpl-%012d", seq),
		Object:  "chat.completion",
		Created: now.Unix(),
		Model:   req.Model,
		Choices: []chatChoice{{Message: chatReply{Role: "assistant", Content: reply}, FinishReason: finish}},
		Usage: chatUsage{
			PromptTokens:     req.PromptTokens,
			CompletionTokens: completion,
			TotalTokens:      req.PromptTokens + completion,
		},
	}
}
