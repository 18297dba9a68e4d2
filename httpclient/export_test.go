package httpclient

import (
	"context"
	"net"
	"time"
)

// InMemory makes every connection of c a pipe to a function that serves it, which works inside of testing/synctest.
// Call it before the first request.
func (c *Client) InMemory(serve func(net.Conn)) {
	c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		attemptOf(ctx).reach(stepConnect)
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }()
			serve(far)
		}()
		conn, err := c.conns.keep(near)
		if err != nil {
			return nil, err
		}
		attemptOf(ctx).greet(conn, time.Now().Add(c.config.Timeouts.Connect))
		return conn, nil
	}
}

// What errors hold, by name.
type Rule = string

// The rules of a Gate and of FollowAudited.
const (
	RuleScheme     = ruleScheme
	RuleUserinfo   = ruleUserinfo
	RuleHost       = ruleHost
	RuleDenied     = ruleDenied
	RuleNotAllowed = ruleNotAllowed
	RuleLocalName  = ruleLocalName
	RulePort       = rulePort
	RuleAddress    = ruleAddress
	RuleProxy      = ruleProxy
	RuleHops       = ruleHops
	RuleLoop       = ruleLoop
	RuleLocation   = ruleLocation
	RuleDowngrade  = ruleDowngrade
	RuleBody       = ruleBody
	RuleSecret     = ruleSecret
	RuleWrap       = ruleWrap
)
