package proxy

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/headrace/headrace/internal/account"
)

// rewrite makes the request for the upstream. ReverseProxy has removed what
// belongs to the connection.
func (*Proxy) rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	r.Out.URL = &x.target // ReverseProxy has removed what it cannot parse from its copy
	r.Out.Host = ""
	x.body.put(r.Out)
	for name := range r.Out.Header {
		if notSent(name) {
			delete(r.Out.Header, name)
		}
	}
	if !strings.EqualFold(r.Out.Header.Get("Upgrade"), "websocket") { // such as the h2c that Java's client offers
		delete(r.Out.Header, "Connection") // HTTP/2 has no such header, and calls in a tunnel would have no limits
		delete(r.Out.Header, "Upgrade")
	}
	if _, ok := r.Out.Header["User-Agent"]; !ok {
		r.Out.Header["User-Agent"] = []string{""} // or net/http would add its own
	}
}

// notSent reports whether a header is for the proxy, or of the browser's
// dealings with it. The name is in canonical form.
func notSent(name string) bool {
	switch name {
	case "Expect", "Cookie", "Origin", "Referer", "Forwarded", "Via", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Headrace-") || strings.HasPrefix(name, "X-Forwarded-") ||
		strings.HasPrefix(name, "Sec-Fetch-") || strings.HasPrefix(name, "Sec-Ch-")
}

// answered prepares the upstream's answer for the client.
func (*Proxy) answered(resp *http.Response) error {
	x := exchangeOf(resp.Request.Context())
	for name := range resp.Header {
		if notReturned(name) {
			delete(resp.Header, name)
		}
	}
	dropEchoes(resp.Header, resp.Request)
	x.relocate(resp.Header)
	x.said.put(resp.Header, x.ticket.Waited(), x.ticket.Attempts())
	x.status = resp.StatusCode
	return nil
}

// shortestSecret is the length, in bytes, from which a credential is not found in
// other texts by chance.
const shortestSecret = 8

// dropEchoes removes the headers that repeat a credential of the request.
func dropEchoes(h http.Header, of *http.Request) {
	if len(h) == 0 {
		return
	}
	var few [2]string
	own := appendSecrets(few[:0], of)
	for name, values := range h {
		if repeat(values, own) {
			delete(h, name)
		}
	}
}

// appendSecrets appends the credentials of a request that are long enough to be found.
func appendSecrets(to []string, of *http.Request) []string {
	for secret := range account.Secrets(of) {
		if len(secret) >= shortestSecret {
			to = append(to, secret)
		}
	}
	return to
}

// repeat reports whether one of the values of a header repeats a secret.
func repeat(values, secrets []string) bool {
	for _, v := range values {
		for _, secret := range secrets {
			if strings.Contains(v, secret) {
				return true
			}
		}
	}
	return false
}

// notReturned reports whether a header would give a client a credential, a
// promise about the proxy's own address, or the proxy's own words.
func notReturned(name string) bool {
	switch name {
	case "Set-Cookie", "Set-Cookie2", "Authorization", "Proxy-Authorization", "Proxy-Authenticate", "Authentication-Info",
		"X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "X-Auth-Token", "Cookie",
		"Alt-Svc", "Strict-Transport-Security", "Public-Key-Pins", "Clear-Site-Data":
		return true
	}
	return strings.HasPrefix(name, "X-Headrace-") || strings.HasPrefix(name, "Access-Control-")
}

// relocate has a redirect within the upstream lead to the upstream again.
func (x *exchange) relocate(h http.Header) {
	locations := h["Location"]
	if len(locations) == 0 || locations[0] == "" {
		return
	}
	to := locations[0]
	u, err := url.Parse(to)
	base := x.to.upstream
	own := err == nil && (u.Host == "" && u.Scheme == "" && strings.HasPrefix(u.Path, "/") ||
		u.Scheme == base.url.Scheme && account.Host(u) == account.Host(base.url))
	if !own {
		return
	}
	path, ok := strings.CutPrefix(u.EscapedPath(), base.path)
	if !ok {
		return
	}
	u.Scheme, u.Host, u.User = "", "", nil
	u.Path, u.RawPath = x.to.prefix+path, ""
	if unescaped, err := url.PathUnescape(u.Path); err == nil {
		u.RawPath, u.Path = u.Path, unescaped
	}
	h.Set("Location", u.String())
}
