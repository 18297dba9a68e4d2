// Package chat stands for the SDK that you have: it asks a provider over HTTP
// and says no the way the official SDKs do, by an error that has the answer. It
// sends nothing again by itself, as an SDK does with WithMaxRetries(0).
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/headrace/headrace/providertest"
)

// Client asks one provider.
type Client struct{ provider *providertest.Server }

// New returns a client of a provider in this process.
func New(p *providertest.Server) Client { return Client{p} }

// Error is an answer that is no success. The default detector and the dialects
// read these fields.
type Error struct {
	StatusCode int
	Response   *http.Response
	Body       string
}

// Error implements error.
func (e *Error) Error() string { return "status " + e.Response.Status }

// Complete has the provider answer a prompt. The key names the item in the
// provider's ledger.
func (c Client) Complete(ctx context.Context, key, prompt string) (string, error) {
	body, _, err := c.Do(ctx, key, prompt)
	if err != nil {
		return "", err
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("chat: unreadable answer: %w", err)
	}
	if len(answer.Choices) == 0 {
		return "", errors.New("chat: the answer has no choices")
	}
	return answer.Choices[0].Message.Content, nil
}

// Do returns the unparsed answer.
func (c Client) Do(ctx context.Context, key, prompt string) ([]byte, http.Header, error) {
	request, err := json.Marshal(map[string]any{
		"model": "gpt-4o-mini", "max_tokens": 60,
		"messages": []map[string]string{{"role": "user", "content": prompt}},
	})
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.provider.URL()+"/v1/chat/completions", bytes.NewReader(request))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Client-Request-Id", key) // not Idempotency-Key: net/http would send again by itself
	res, err := c.provider.Client().Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = &Error{res.StatusCode, res, string(body)}
	}
	return body, res.Header, err
}
