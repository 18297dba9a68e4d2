package httpclient

import (
	"net/http"
	"net/url"
	"slices"
)

const (
	defaultMaxHops = 10 // as net/http

	// maxLocation is the length that RFC 9110, section 4.1, recommends to support.
	maxLocation = 8000
)

// walk is where a chain of redirects is, without a request or a clock.
type walk struct {
	first   string // the origin that credentials are for
	method  string
	at      *url.URL
	body    bool // a body is sent
	foreign bool // it has been at another origin, and is bare for the rest of the way
	left    int
	seen    []visit
}

// visit is a request as far as an answer can depend on it.
type visit struct {
	method, url string
	foreign     bool
}

func newWalk(method string, u *url.URL, body bool, hops int) *walk {
	w := &walk{first: origin(u), method: method, at: u, body: body, left: hops}
	w.seen = []visit{w.here()}
	return w
}

func (w *walk) here() visit {
	bare := *w.at
	bare.Fragment, bare.RawFragment = "", ""
	return visit{w.method, bare.String(), w.foreign}
}

// answer is what a redirect says, and what is known of the request that got it.
type answer struct {
	status    int
	locations []string
	secrets   []string // what must not be in a URL of another origin
	replays   bool     // the body can be had again
	others    bool     // Follow.BodyToOthers
}

// follow goes one step, or says why not.
func (w *walk) follow(a answer) *GateError {
	next, refused := w.target(a.locations)
	if refused != nil {
		return refused
	}
	refuse := func(rule, remedy string) *GateError {
		return &GateError{Target: shown(next), Rule: rule, Remedy: remedy}
	}
	if w.left == 0 {
		return refuse(ruleHops, "raise Follow.MaxHops if that many are meant")
	}
	if w.at.Scheme == schemeHTTPS && next.Scheme == schemeHTTP {
		return refuse(ruleDowngrade, "ask the other side to redirect to https")
	}
	w.left--
	w.foreign = w.foreign || origin(next) != w.first
	w.rewrite(a.status)
	w.at = next
	switch {
	case w.foreign && carries(next, a.secrets):
		return refuse(ruleSecret, "ask the new address directly, with credentials of its own")
	case w.body && !a.replays:
		return refuse(ruleBody, "set Request.GetBody, so that the body can be sent again")
	case w.body && w.foreign && !a.others:
		return refuse(ruleBody, "set Follow.BodyToOthers if other origins may have the body")
	case slices.Contains(w.seen, w.here()):
		return refuse(ruleLoop, "ask the other side; it redirects in a circle")
	}
	w.seen = append(w.seen, w.here())
	return nil
}

func (w *walk) target(locations []string) (*url.URL, *GateError) {
	if len(locations) != 1 || locations[0] == "" || len(locations[0]) > maxLocation {
		return nil, &GateError{Rule: ruleLocation, Remedy: "want one Location of at most 8000 bytes in an answer that redirects"}
	}
	next, err := w.at.Parse(locations[0])
	if err != nil {
		return nil, &GateError{Rule: ruleLocation, Remedy: "the Location is not a URL"} // not the error, which quotes it
	}
	return next, nil
}

// rewrite does what RFC 9110, section 15.4, says of the method.
func (w *walk) rewrite(status int) {
	switch {
	case status == http.StatusSeeOther && w.method == http.MethodHead:
		w.body = false
	case status == http.StatusSeeOther,
		(status == http.StatusMovedPermanently || status == http.StatusFound) && w.method == http.MethodPost:
		w.method, w.body = http.MethodGet, false
	}
}
