package httpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/headrace/headrace/httpclient"
)

// What needs a Do, such as a download, gets one that follows redirects.
func ExampleClient_Following() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "the file")
	}))
	defer server.Close()

	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	client, err := httpclient.New(httpclient.Config{
		Gate: &httpclient.Gate{ // &httpclient.Gate{} in earnest: https to public addresses
			Schemes:       []string{"http"},
			Ports:         []uint16{at.Port()},
			AllowPrefixes: []netip.Prefix{netip.PrefixFrom(at.Addr(), 32)},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+"/file", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Following(httpclient.Follow{MaxHops: 3}).Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Println(string(text), err)
	// Output: the file <nil>
}
