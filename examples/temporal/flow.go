package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/retry"
)

// Archive is the state of the run.
type Archive struct {
	Count   int // of texts
	Texts   []Text
	Answers []string
	Letters int // in all answers
}

// Text is an item.
type Text struct {
	ID   string
	Body string
}

// size is how long a text is, in bytes.
const size = 2100

// textOf returns text number i.
func textOf(i int) Text {
	id := fmt.Sprintf("text-%05d", i)
	return Text{id, strings.Repeat(id+" turns the mill wheel. ", size/33)[:size-100]}
}

// answerOf is the provider's answer to a text.
func answerOf(body string) string { return strings.ToUpper(body[:min(len(body), len("text-00000"))]) }

// asker calls the provider. Workers have one; a program that only describes the flow need not.
type asker struct {
	url    string
	client *http.Client
}

func (a *asker) ask(ctx context.Context, t Text) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "m", "max_tokens": 60, "messages": []map[string]string{{"role": "user", "content": t.Body}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Client-Request-Id", t.ID)
	resp, err := a.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", &statusError{resp.StatusCode, resp, string(text)}
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Choices) == 0 {
		return "", fmt.Errorf("the answer is not understood: %.80s", text)
	}
	return answer.Choices[0].Message.Content, nil
}

// statusError is an answer other than 200. The guard reads its fields.
type statusError struct {
	StatusCode int
	Response   *http.Response
	Body       string
}

func (e *statusError) Error() string { return "status " + e.Response.Status }

// archive is the flow. All calls are within quota, which may be nil where the flow is only described.
func archive(a *asker, quota *guard.Guard, parallel int) *flow.Flow[*Archive] {
	read := node.Do("read", func(_ context.Context, s *Archive) error {
		for i := range s.Count {
			s.Texts = append(s.Texts, textOf(i))
		}
		return nil
	})
	ask := node.Each("ask", func(s *Archive) []Text { return s.Texts }, a.ask, func(s *Archive, answers []string) { s.Answers = answers }).
		WithParallel(parallel).WithRetry(retry.Policy{MaxAttempts: 8})
	if quota != nil {
		ask = ask.Within(quota)
	}
	count := node.Do("count", func(_ context.Context, s *Archive) error {
		for _, answer := range s.Answers {
			s.Letters += len(answer)
		}
		return nil
	})
	return flow.New("archive", read).Then(ask).Then(count)
}
