package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
)

// One client for a service, with a key that no log ever sees.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello, "+r.Header.Get("Authorization"))
	}))
	defer server.Close()

	client, err := httpclient.New(httpclient.Config{
		Service: "greeter",
		Sign: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer me")
			return nil
		},
		Observer: event.Func(func(e event.Event) {
			fmt.Println(e.Kind, e.Source, e.Request.Method, e.Request.Status, e.Request.Received, "bytes")
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output:
	// net.request greeter GET 200 16 bytes
	// hello, Bearer me <nil>
}

// What went wrong is a code; how far it had come is a phase.
func ExampleError() {
	client, err := httpclient.New(httpclient.Config{Service: "nobody"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://127.0.0.1:1/?key=secret", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	fmt.Println(errors.Is(err, httpclient.CodeConnect))
	if failed, ok := errors.AsType[*httpclient.Error](err); ok {
		fmt.Println(failed.Code, failed.Phase, failed.URL)
	}
	// Output:
	// true
	// E_NET_CONNECT connect http://127.0.0.1:1/?key=REDACTED
}
