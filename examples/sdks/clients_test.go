package sdks_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"google.golang.org/genai"
)

// client is an SDK under test.
type client struct {
	call   func(ctx context.Context) (string, error)
	stream func(ctx context.Context) (string, error)
	upload func(ctx context.Context, text string) error
}

// clients returns the SDKs, each of which sends by c and retries nothing.
func clients(c *http.Client) (map[string]client, error) {
	google, err := googleClient(c)
	if err != nil {
		return nil, err
	}
	return map[string]client{
		"azure": azureClient(c), "openai": openAIClient(c), "anthropic": anthropicClient(c), "google": google, "aws": awsClient(c),
		"go-retryablehttp": retryableClient(c),
	}, nil
}

func azureClient(c *http.Client) client {
	pipeline := runtime.NewPipeline("sdks", "v1", runtime.PipelineOptions{}, &policy.ClientOptions{
		Transport: c, Retry: policy.RetryOptions{MaxRetries: -1},
	})
	send := func(ctx context.Context, method, path, text string, stream bool) (string, error) {
		req, err := runtime.NewRequest(ctx, method, base+path)
		if err != nil {
			return "", err
		}
		if text != "" {
			if err := req.SetBody(streaming.NopCloser(strings.NewReader(text)), "application/json"); err != nil {
				return "", err
			}
		}
		if stream {
			runtime.SkipBodyDownload(req)
		}
		resp, err := pipeline.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if !runtime.HasStatusCode(resp, http.StatusOK) {
			return "", runtime.NewResponseError(resp)
		}
		said, err := io.ReadAll(resp.Body)
		return string(said), err
	}
	return client{
		call: func(ctx context.Context) (string, error) {
			return send(ctx, http.MethodPost, "/plain/call", `{"a":1}`, false)
		},
		stream: func(ctx context.Context) (string, error) { return send(ctx, http.MethodGet, "/plain/stream", "", true) },
		upload: func(ctx context.Context, text string) error {
			_, err := send(ctx, http.MethodPost, "/plain/upload", text, false)
			return err
		},
	}
}

func retryableClient(c *http.Client) client {
	r := retryablehttp.NewClient()
	r.HTTPClient, r.RetryMax, r.Logger = c, 0, nil
	send := func(ctx context.Context, path string, body any) (string, error) {
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, base+path, body)
		if err != nil {
			return "", err
		}
		resp, err := r.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return "", errors.New(resp.Status)
		}
		said, err := io.ReadAll(resp.Body)
		return string(said), err
	}
	return client{
		call:   func(ctx context.Context) (string, error) { return send(ctx, "/plain/call", []byte(`{"a":1}`)) },
		stream: func(ctx context.Context) (string, error) { return send(ctx, "/plain/stream", nil) },
		upload: func(ctx context.Context, text string) error {
			_, err := send(ctx, "/plain/upload", io.ReadSeeker(strings.NewReader(text)))
			return err
		},
	}
}

func openAIClient(c *http.Client) client {
	sdk := openai.NewClient(openaioption.WithHTTPClient(c), openaioption.WithMaxRetries(0), openaioption.WithBaseURL(base+"/openai/v1"),
		openaioption.WithAPIKey("k"))
	params := openai.ChatCompletionNewParams{Model: "gpt-4o-mini", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello?")}}
	return client{
		call: func(ctx context.Context) (string, error) {
			a, err := sdk.Chat.Completions.New(ctx, params)
			if err != nil {
				return "", err
			}
			return a.Choices[0].Message.Content, nil
		},
		stream: func(ctx context.Context) (string, error) {
			s := sdk.Chat.Completions.NewStreaming(ctx, params)
			defer func() { _ = s.Close() }()
			var said strings.Builder
			for s.Next() {
				said.WriteString(s.Current().Choices[0].Delta.Content)
			}
			return said.String(), s.Err()
		},
		upload: func(ctx context.Context, text string) error {
			_, err := sdk.Files.New(ctx, openai.FileNewParams{File: strings.NewReader(text), Purpose: openai.FilePurposeBatch})
			return err
		},
	}
}

func anthropicClient(c *http.Client) client {
	sdk := anthropic.NewClient(anthropicoption.WithHTTPClient(c), anthropicoption.WithMaxRetries(0), anthropicoption.WithBaseURL(base+"/anthropic"),
		anthropicoption.WithAPIKey("k"))
	params := anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello?"))},
	}
	return client{
		call: func(ctx context.Context) (string, error) {
			a, err := sdk.Messages.New(ctx, params)
			if err != nil {
				return "", err
			}
			return a.Content[0].Text, nil
		},
		stream: func(ctx context.Context) (string, error) {
			s := sdk.Messages.NewStreaming(ctx, params)
			defer func() { _ = s.Close() }()
			var said strings.Builder
			for s.Next() {
				said.WriteString(s.Current().Delta.Text)
			}
			return said.String(), s.Err()
		},
		upload: func(ctx context.Context, text string) error {
			_, err := sdk.Beta.Files.Upload(ctx, anthropic.BetaFileUploadParams{File: strings.NewReader(text)})
			return err
		},
	}
}

func googleClient(c *http.Client) (client, error) {
	sdk, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: c, HTTPOptions: genai.HTTPOptions{BaseURL: base + "/google/"},
	})
	if err != nil {
		return client{}, err
	}
	return client{
		call: func(ctx context.Context) (string, error) {
			a, err := sdk.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("hello?"), nil)
			if err != nil {
				return "", err
			}
			return a.Text(), nil
		},
		stream: func(ctx context.Context) (string, error) {
			var said strings.Builder
			for a, err := range sdk.Models.GenerateContentStream(ctx, "gemini-2.5-flash", genai.Text("hello?"), nil) {
				if err != nil {
					return said.String(), err
				}
				said.WriteString(a.Text())
			}
			return said.String(), nil
		},
		upload: func(ctx context.Context, text string) error {
			_, err := sdk.Files.Upload(ctx, strings.NewReader(text), &genai.UploadFileConfig{MIMEType: "text/plain"})
			return err
		},
	}, nil
}

func awsClient(c *http.Client) client {
	sdk := s3.New(s3.Options{
		HTTPClient: c, BaseEndpoint: aws.String(base + "/aws"), Region: "eu-west-1", UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials:                credentials.NewStaticCredentialsProvider("id", "secret", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
	get := func(ctx context.Context, key string) (string, error) {
		out, err := sdk.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("b"), Key: &key})
		if err != nil {
			return "", err
		}
		defer out.Body.Close()
		said, err := io.ReadAll(out.Body)
		return string(said), err
	}
	return client{
		call:   func(ctx context.Context) (string, error) { return get(ctx, "call") },
		stream: func(ctx context.Context) (string, error) { return get(ctx, "stream") },
		upload: func(ctx context.Context, text string) error {
			_, err := sdk.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("upload"), Body: bytes.NewReader([]byte(text))})
			return err
		},
	}
}

// answered reports whether err is a response with this status.
func answered(err error, status int) bool {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return e.StatusCode == status
	}
	if e, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		return e.HTTPStatusCode() == status
	}
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return e.StatusCode == status
	}
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		return e.StatusCode == status
	}
	if e, ok := errors.AsType[genai.APIError](err); ok {
		return e.Code == status
	}
	return err != nil && strings.HasPrefix(err.Error(), "400")
}
