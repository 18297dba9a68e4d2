package endpoint_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
	"github.com/headrace/headrace/presets"
)

// greeter answers requests with the right key.
func greeter() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" && r.Header.Get("X-Api-Key") != "right" {
			http.Error(w, "the key is wrong", http.StatusUnauthorized)
			return
		}
		var ask struct{ Name string }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		_, _ = fmt.Fprintf(w, `{"text": "%s: hello, %s"}`, r.URL.Path, ask.Name)
	}))
}

// An endpoint from code.
func ExampleNew() {
	server := greeter()
	defer server.Close()

	greet, err := endpoint.New(endpoint.Config{
		Name:    "greeter",
		BaseURL: server.URL + "/v1",
		Path:    "/greetings",
		Secret:  httpclient.NewSecret("right"), // better: httpclient.SecretFromEnv("GREETER_API_KEY")
		Timeout: 30 * time.Second,
		CheckPayload: func(payload any) error {
			if payload.(map[string]string)["name"] == "" {
				return errors.New("no name")
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer greet.Close() //nolint:errcheck // it is always nil

	answer, err := greet.Call(context.Background(), map[string]string{"name": "you"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var said struct{ Text string }
	if err := answer.Decode(&said); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Method, answer.StatusCode, said.Text)
	fmt.Println(answer.RequestHeader)

	_, err = greet.Call(context.Background(), map[string]string{})
	fmt.Println(errors.Is(err, httpclient.CodeUnsent))
	// Output:
	// POST 200 /v1/greetings: hello, you
	// map[Authorization:[REDACTED] Content-Type:[application/json]]
	// true
}

// An endpoint from a file. What no file can say is added in code.
func ExampleConfigFromMap() {
	server := greeter()
	defer server.Close()
	_ = os.Setenv("GREETER_API_KEY", "right")
	defer func() { _ = os.Unsetenv("GREETER_API_KEY") }()

	read := func(text string) (c endpoint.Config, err error) {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return c, err
		}
		return endpoint.ConfigFromMap(m)
	}
	_, err := read(`{"name": "greeter", "base_url": "http://localhost", "secret_evn": "GREETER_API_KEY", "timeout": "30"}`)
	fmt.Println(err)

	config, err := read(`{
		"name": "greeter", "base_url": "` + server.URL + `", "path": "greetings",
		"auth": "header", "auth_header": "X-Api-Key", "secret_env": "GREETER_API_KEY",
		"timeout": "30s"
	}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	config.Config.UserAgent = "example/1.0"
	greet, err := endpoint.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer greet.Close() //nolint:errcheck // it is always nil
	answer, err := greet.Call(context.Background(), `{"name": "you"}`)
	fmt.Println(string(answer.Body), err)
	fmt.Println(config.Secret)
	// Output:
	// endpoint "greeter": secret_evn: the key is unknown: did you mean secret_env or secret?
	// endpoint "greeter": timeout: "30" is not a duration; want a text with units, such as "30s" or "1m30s", or a number of seconds
	// {"text": "/greetings: hello, you"} <nil>
	// REDACTED
}

// A function of an SDK in place of HTTP: a Caller, as an Endpoint is.
func ExampleNewFunc() {
	c, err := endpoint.NewFunc(endpoint.FuncConfig{Name: "upper", Timeout: time.Minute},
		func(_ context.Context, text string) (string, error) {
			if text == "" {
				panic("nothing to do")
			}
			return strings.ToUpper(text), nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close() //nolint:errcheck // it is always nil

	answer, err := c.Call(context.Background(), "hello")
	fmt.Println(answer.Value, err)

	_, err = c.Call(context.Background(), "")
	panicked, ok := errors.AsType[*fault.PanicError](err)
	fmt.Println(ok, panicked.Value)
	// Output:
	// HELLO <nil>
	// true nothing to do
}

// One endpoint serves all batches: the path, the query and a header are those of the call.
func ExampleParams() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.URL.RequestURI(), " ", r.Header.Get("Accept-Language"))
	}))
	defer server.Close()

	batch, err := endpoint.New(endpoint.Config{BaseURL: server.URL + "/v1", Path: "/batches/{id}", Method: http.MethodGet})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer batch.Close() //nolint:errcheck // it is always nil

	answer, err := batch.Call(context.Background(), endpoint.Params{
		Path:   map[string]string{"id": "batch_123"},
		Query:  url.Values{"limit": {"20"}},
		Header: map[string]string{"Accept-Language": "en"},
	})
	fmt.Println(string(answer.Body), err)
	// Output: /v1/batches/batch_123?limit=20 en <nil>
}

// What a GET returns, as a value.
func ExampleGet() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"id": %q, "status": "completed"}`, strings.TrimPrefix(r.URL.Path, "/batches/"))
	}))
	defer server.Close()

	batches, err := endpoint.New(endpoint.Config{BaseURL: server.URL, Path: "/batches/{id}", Method: http.MethodGet})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer batches.Close() //nolint:errcheck // it is always nil

	batch, err := endpoint.Get[struct{ Status string }](context.Background(), batches, endpoint.Params{Path: map[string]string{"id": "batch_123"}})
	fmt.Println(batch.Status, err)
	// Output: completed <nil>
}

// An endpoint reads whole answers. A stream is read through the client that the endpoint shares, so that both have
// the same key and the same limits.
func Example_stream() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", r.Header.Get("Authorization"))
	}))
	defer server.Close()

	client, err := httpclient.New(httpclient.Config{
		Sign: httpclient.OnlyTo(server.URL, httpclient.Bearer(httpclient.NewSecret("right"))),
		Wrap: []func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
			return headrace.Transport(next, presets.OpenAITier1)
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	chat, err := endpoint.New(endpoint.Config{BaseURL: server.URL, Path: "/chat/completions", Client: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer chat.Close() //nolint:errcheck // it is always nil

	resp, err := client.Standard().Post(server.URL+"/chat/completions", "application/json", strings.NewReader(`{"model": "gpt-5.6-luna", "stream": true}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			fmt.Println(data)
		}
	}
	// Output:
	// Bearer right
	// [DONE]
}
