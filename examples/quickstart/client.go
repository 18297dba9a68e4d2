package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// client speaks just enough of the chat completions API. A real program takes
// the provider's SDK, with its own retries turned off.
type client struct {
	http  *http.Client
	base  string
	key   string
	model string
}

// apiError is an answer that is not 200. The default detector reads these
// fields, which are also those of the official SDKs.
type apiError struct {
	StatusCode int
	Code, Type string
	Message    string
	Response   *http.Response
}

func (e *apiError) Error() string {
	return fmt.Sprintf("status %d: %s (%s)", e.StatusCode, e.Message, e.Code)
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

func (c *client) summarise(ctx context.Context, key, passage string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": c.model,
		"messages": []map[string]string{
			{"role": "system", "content": "Summarise the passage in one short sentence."},
			{"role": "user", "content": passage},
		},
		"max_tokens": 60,
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", refusal(res, answer)
	}
	return content(answer)
}

func refusal(res *http.Response, answer []byte) error {
	var body struct {
		Error struct{ Message, Type, Code string }
	}
	e := &apiError{StatusCode: res.StatusCode, Response: res, Message: http.StatusText(res.StatusCode)}
	if json.Unmarshal(answer, &body) == nil && body.Error.Message != "" {
		e.Message, e.Type, e.Code = body.Error.Message, body.Error.Type, body.Error.Code
	}
	return e
}

func content(answer []byte) (string, error) {
	var body struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return "", fmt.Errorf("unreadable answer: %w", err)
	}
	if len(body.Choices) == 0 {
		return "", errors.New("the answer has no choices")
	}
	return body.Choices[0].Message.Content, nil
}
