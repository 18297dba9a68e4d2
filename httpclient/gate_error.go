package httpclient

import (
	"fmt"
	"net/url"
	"strings"
)

// The rules of a Gate.
const (
	ruleScheme     = "scheme"     // not in Gate.Schemes
	ruleUserinfo   = "userinfo"   // the URL has a user or a password
	ruleHost       = "host"       // there is none, or it can be read in two ways
	ruleDenied     = "denied"     // in Gate.Deny
	ruleNotAllowed = "notallowed" // not in Gate.Allow
	ruleLocalName  = "localname"  // a name of the local network
	rulePort       = "port"       // not in Gate.Ports
	ruleAddress    = "address"    // not public and not in Gate.AllowPrefixes, as written or as the name resolves
	ruleProxy      = "proxy"      // one of Config.Proxies
)

// The rules of [Client.FollowAudited].
const (
	ruleHops      = "hops"      // more redirects than Follow.MaxHops
	ruleLoop      = "loop"      // back to a request that was answered by a redirect
	ruleLocation  = "location"  // missing, repeated, or not a URL
	ruleDowngrade = "downgrade" // from https to http
	ruleBody      = "body"      // it would have to be sent again, and cannot, or not to there
	ruleSecret    = "secret"    // to another origin, with a credential of the request in the URL
	ruleWrap      = "wrap"      // something in Config.Wrap changed where a hop to another origin goes
)

const notPublic = "not a public address; add it to Gate.AllowPrefixes if it is meant"

// GateError names the rule that rejected a URL. It is the cause of an [Error] with CodeUnsent, or with
// CodeRedirect after a redirect.
type GateError struct {
	Target string // the URL without userinfo, fragment and query values, or the dialled address; may be empty
	Rule   string // such as "address"; docs/http.md lists the rules
	Remedy string
}

// Error implements error.
func (e *GateError) Error() string {
	if e.Target == "" {
		return fmt.Sprintf("httpclient: rejected by rule %q: %s", e.Rule, e.Remedy)
	}
	return fmt.Sprintf("httpclient: %s is rejected by rule %q: %s", e.Target, e.Rule, e.Remedy)
}

// without returns the error with no secret in its target.
func (e *GateError) without(secrets []string) *GateError {
	clean := *e
	clean.Target = scrubText(e.Target, secrets)
	return &clean
}

// shown is the URL for errors and trails: it may be the other side's, so it is bounded.
func shown(u *url.URL) string {
	text := redactURL(u)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}
