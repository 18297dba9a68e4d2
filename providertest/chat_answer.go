package providertest

import "fmt"

// chatBody is an answer of the chat route, or a chunk of one.
type chatBody struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"` // Unix seconds
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index        int        `json:"index"`
	Message      *chatReply `json:"message,omitempty"` // of a whole answer
	Delta        *chatDelta `json:"delta,omitempty"`   // of a chunk
	Logprobs     *struct{}  `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`
}

type chatReply struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
}

type chatDelta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

func newChatBody(r reply, object string, choices ...chatChoice) chatBody {
	return chatBody{
		ID: fmt.Sprintf("chatcmpl-%012d", r.seq), Object: object, Created: r.now.Unix(), Model: r.req.Model,
		Choices: choices,
	}
}

func newChatUsage(r reply) *chatUsage {
	return &chatUsage{
		PromptTokens: r.req.PromptTokens, CompletionTokens: r.output, TotalTokens: r.req.PromptTokens + r.output,
	}
}

func chatAnswer(r reply) any {
	body := newChatBody(r, "chat.completion", chatChoice{
		Message:      &chatReply{Role: "assistant", Content: r.text},
		FinishReason: new(r.finish("stop", "length")),
	})
	body.Usage = newChatUsage(r)
	return body
}

// chatEvents ends with a chunk without choices that has the usage, if the request asked for it, and with "[DONE]".
func chatEvents(r reply) []event {
	chunk := func(output int, choices ...chatChoice) event {
		return event{data: newChatBody(r, "chat.completion.chunk", choices...), output: output}
	}
	events := []event{chunk(0, chatChoice{Delta: &chatDelta{Role: "assistant"}})}
	for piece, output := range r.pieces {
		events = append(events, chunk(output, chatChoice{Delta: &chatDelta{Content: piece}}))
	}
	events = append(events, chunk(r.output, chatChoice{
		Delta: &chatDelta{}, FinishReason: new(r.finish("stop", "length")),
	}))
	if r.req.usage {
		body := newChatBody(r, "chat.completion.chunk")
		body.Choices, body.Usage = []chatChoice{}, newChatUsage(r)
		events = append(events, event{data: body, output: r.output})
	}
	return append(events, event{data: rawEvent("[DONE]"), output: r.output})
}
