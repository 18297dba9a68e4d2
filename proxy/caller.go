package proxy

import (
	"net/http"

	"github.com/headrace/headrace/internal/account"
	"github.com/headrace/headrace/internal/line"
)

// Account implements account.Known for the transport, which would hash the credential again.
func (x *exchange) Account() (id account.ID, ok bool) { return x.account, x.hashed }

// caller returns which client sends the request of x: the one that its path or its
// header names, or else that of its credential.
func (x *exchange) caller(r *http.Request) (c line.Caller, f *failure) {
	c.Client = x.to.client
	if names := r.Header["X-Headrace-Client"]; len(names) > 0 && c.Client == "" {
		if c.Client = names[0]; len(names) > 1 || !validName.MatchString(c.Client) {
			return c, fail(CodeClient, "X-Headrace-Client must be one name: up to 64 letters, digits, dots, dashes and underscores, a letter or digit first")
		}
	}
	if c.Client == "" {
		x.account, x.hashed = account.OfTo(r, &x.target), true
		c.Client = x.to.upstream.client(x.account)
	}
	c.Weight = x.proxy.config.Weights[c.Client]
	switch priority := r.Header["X-Headrace-Priority"]; {
	case len(priority) == 0, len(priority) == 1 && priority[0] == "interactive":
	case len(priority) == 1 && priority[0] == "batch":
		c.Priority = line.Batch
	default:
		return c, fail(CodeClient, "X-Headrace-Priority must be interactive, the default, or batch")
	}
	return c, nil
}
