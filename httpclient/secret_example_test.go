package httpclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/headrace/headrace/httpclient"
)

// A secret is printed only where Reveal is called.
func ExampleSecret() {
	s := httpclient.NewSecret("sk-123")
	fmt.Printf("%v %+v %x %#v\n", s, struct{ key httpclient.Secret }{s}.key, s, s)
	text, err := json.Marshal(map[string]httpclient.Secret{"key": s})
	fmt.Println(string(text), err)
	value, err := s.Reveal()
	fmt.Println(len(value), err)
	// Output:
	// REDACTED REDACTED REDACTED httpclient.Secret(REDACTED)
	// {"key":"REDACTED"} <nil>
	// 6 <nil>
}

// Credentials for one service, in a client that an SDK uses for whatever it likes.
func ExampleOnlyTo() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%q", r.Header.Get("Authorization"))
	}))
	defer server.Close()
	key := httpclient.NewSecret("k")
	for _, base := range []string{server.URL, "https://api.example.com"} {
		client, err := httpclient.New(httpclient.Config{Sign: httpclient.OnlyTo(base, httpclient.Bearer(key))})
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := client.Standard().Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(string(body), err)
		client.Close()
	}
	// Output:
	// "Bearer k" <nil>
	// "" <nil>
}
