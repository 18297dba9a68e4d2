package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"

	"github.com/headrace/headrace/httpclient"
)

// A server sends its caller to the address where clouds keep credentials.
func ExampleClient_FollowAudited() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			http.Redirect(w, r, "/moved?token=secret", http.StatusFound)
			return
		}
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	}))
	defer server.Close()

	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	client, err := httpclient.New(httpclient.Config{
		Service: "files",
		Gate: &httpclient.Gate{ // &httpclient.Gate{} in earnest: https to public addresses
			Schemes:       []string{"http"},
			Ports:         []uint16{at.Port(), 80},
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
	resp, trail, err := client.FollowAudited(req, httpclient.Follow{})
	if err == nil {
		resp.Body.Close()
	}
	for _, hop := range trail {
		u, _ := url.Parse(hop.URL)
		fmt.Println(hop.Method, u.Path, u.RawQuery, hop.Status, hop.Bare)
	}
	fmt.Println(errors.Is(err, httpclient.CodeRedirect))
	if refused, ok := errors.AsType[*httpclient.GateError](err); ok {
		fmt.Println(refused.Rule)
	}
	// Output:
	// GET /file  302 false
	// GET /moved token=REDACTED 302 false
	// GET /latest/meta-data  0 true
	// true
	// address
}

// A URL from a user is checked before it is used.
func ExampleGate_Check() {
	gate := httpclient.Gate{Deny: []string{".evil.example"}}
	for _, text := range []string{
		"https://hooks.example.com/x?key=secret", "http://hooks.example.com/x?key=secret", "https://0x7f.1/", "https://[::ffff:10.0.0.1]/",
		"https://a.evil.example/", "https://vault/",
	} {
		u, err := url.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(gate.Check(u))
	}
	// Output:
	// <nil>
	// httpclient: http://hooks.example.com/x?key=REDACTED is rejected by rule "scheme": use one of https, or add it to Gate.Schemes
	// httpclient: https://0x7f.1/ is rejected by rule "host": write the host as a name in ASCII (xn--...), as four decimal numbers, or as an IPv6 address in brackets without zone
	// httpclient: https://[::ffff:10.0.0.1]/ is rejected by rule "address": not a public address; add it to Gate.AllowPrefixes if it is meant
	// httpclient: https://a.evil.example/ is rejected by rule "denied": Gate.Deny has it
	// httpclient: https://vault/ is rejected by rule "localname": add the host to Gate.Allow if a name of the local network is meant
}
