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

const prompt = "Summarise the text in one short sentence."

// client speaks just enough of the chat completions API. A real program takes
// the provider's SDK, with its own retries turned off.
type client struct {
	http             *http.Client
	base, key, model string
}

// apiError is an answer that is not 200. The default detector reads these fields.
type apiError struct {
	StatusCode int
	Response   *http.Response
	Text       string
}

func (e *apiError) Error() string { return fmt.Sprintf("status %d: %s", e.StatusCode, e.Text) }

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

func (c *client) summarise(ctx context.Context, t Text) (string, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{
		"model":    c.model,
		"messages": []message{{"system", prompt}, {"user", t.Text}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Client-Request-Id", t.ID) // not Idempotency-Key: net/http would send again by itself
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", &apiError{res.StatusCode, res, string(text)}
	}
	var answer struct {
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", fmt.Errorf("unreadable answer: %w", err)
	}
	if len(answer.Choices) == 0 {
		return "", errors.New("the answer has no choices")
	}
	return answer.Choices[0].Message.Content, nil
}
