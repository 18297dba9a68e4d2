package main

import (
	"log/slog"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/presets"
)

// What docs/http.md has of the SDK; internal/guide compares it.
func _(logger *slog.Logger) (openai.Client, error) {
	c, err := httpclient.New(httpclient.Config{
		Service: "openai",
		Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return headrace.Transport(next, presets.OpenAITier1)
		}},
		FailOnRedirect: true,
		Observer:       event.Slog(logger),
	})
	if err != nil {
		return openai.Client{}, err
	}
	defer c.Close()
	client := openai.NewClient(option.WithHTTPClient(c.Standard()), option.WithMaxRetries(0))
	return client, nil
}
