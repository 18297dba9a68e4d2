package providertest

import "fmt"

// messagesRoute is Anthropic's messages.
func messagesRoute() route {
	return route{path: "/v1/messages", parse: parseMessages, answer: messageAnswer, events: messageEvents}
}

// messagesRequest is what the route reads of a request; it ignores all else.
type messagesRequest struct {
	Model     string        `json:"model"`
	System    chatText      `json:"system"`
	Messages  []chatMessage `json:"messages"`
	MaxTokens *int          `json:"max_tokens"`
	Stream    bool          `json:"stream"`
}

func parseMessages(body []byte, req *Request) *failure {
	var in messagesRequest
	if bad := decode(body, &in); bad != nil {
		return bad
	}
	switch {
	case in.Model == "":
		return invalid("model", "model: Field required")
	case len(in.Messages) == 0:
		return invalid("messages", "messages: at least one message is required")
	case in.MaxTokens == nil:
		return invalid("max_tokens", "max_tokens: Field required")
	case *in.MaxTokens < 1:
		return invalid("max_tokens", "max_tokens: must be greater than or equal to 1")
	case *in.MaxTokens > mostTokens:
		return invalid("max_tokens", fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens", *in.MaxTokens, mostTokens))
	}
	req.Model, req.MaxTokens, req.Stream = in.Model, *in.MaxTokens, in.Stream
	if in.System != "" {
		req.Messages = append(req.Messages, Message{Role: "system", Content: string(in.System)})
	}
	req.setMessages(in.Messages)
	return nil
}

type messageReply struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []messageBlock `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        messageUsage   `json:"usage"`
}

type messageBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messageUsage struct {
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	Input         int `json:"input_tokens"`
	Output        int `json:"output_tokens"`
}

// newMessage is the answer before its first word.
func newMessage(r reply) messageReply {
	return messageReply{
		ID: fmt.Sprintf("msg_%012d", r.seq), Type: "message", Role: "assistant", Model: r.req.Model,
		Content: []messageBlock{}, Usage: messageUsage{Input: r.req.PromptTokens},
	}
}

func messageAnswer(r reply) any {
	m := newMessage(r)
	m.Content = []messageBlock{{Type: "text", Text: r.text}}
	m.StopReason = new(r.finish("end_turn", "max_tokens"))
	m.Usage.Output = r.output
	return m
}

// messageEvents reports the input in the first event and the output in the last but one, as running totals.
func messageEvents(r reply) []event {
	type fields = map[string]any
	name := func(kind string, output int, more fields) event {
		more["type"] = kind
		return event{name: kind, data: more, output: output}
	}
	events := []event{
		name("message_start", 0, fields{"message": newMessage(r)}),
		name("content_block_start", 0, fields{"index": 0, "content_block": messageBlock{Type: "text"}}),
		name("ping", 0, fields{}),
	}
	for piece, output := range r.pieces {
		delta := fields{"type": "text_delta", "text": piece}
		events = append(events, name("content_block_delta", output, fields{"index": 0, "delta": delta}))
	}
	return append(events,
		name("content_block_stop", r.output, fields{"index": 0}),
		name("message_delta", r.output, fields{
			"delta": fields{"stop_reason": r.finish("end_turn", "max_tokens"), "stop_sequence": nil},
			"usage": fields{"output_tokens": r.output},
		}),
		name("message_stop", r.output, fields{}),
	)
}
