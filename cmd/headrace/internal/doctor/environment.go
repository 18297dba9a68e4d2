package doctor

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/gateway"
)

// Variable is an environment variable that determines where calls are sent.
type Variable struct {
	Name string `json:"name"`
	To   string `json:"to"` // scheme, host and port
}

// dialTimeout bounds the check whether a process listens on this machine.
const dialTimeout = 500 * time.Millisecond

// environment examines where clients started in this environment send their calls, and whether they retry.
func (x *examination) environment(ctx context.Context) {
	for _, name := range gateway.Variables() {
		u, err := url.Parse(x.Getenv(name))
		if err != nil || u.Host == "" {
			continue
		}
		to := u.Scheme + "://" + u.Host // the path may hold a token
		x.Environment = append(x.Environment, Variable{name, to})
		if ip := net.ParseIP(u.Hostname()); (ip == nil || !ip.IsLoopback()) && u.Hostname() != "localhost" {
			continue
		}
		if !listens(ctx, u) {
			x.add(Problem, ProxyDown, name, "start headrace proxy there, or unset "+name, "it points to %s, where nothing listens", to)
		}
	}
	for _, v := range []struct {
		name  string
		least int // more than one attempt means retries
		what  string
	}{
		{"AWS_MAX_ATTEMPTS", 2, "the AWS SDKs make up to %d attempts by themselves: if headrace retries too, the attempts multiply"},
		{"CLAUDE_CODE_MAX_RETRIES", 1, "Claude Code retries up to %d times by itself: if headrace retries too, the attempts multiply"},
	} {
		if n, err := strconv.Atoi(x.Getenv(v.name)); err == nil && n >= v.least {
			x.add(Warning, RetriesTwice, v.name, "set "+v.name+"="+strconv.Itoa(v.least-1)+" for programs that call through headrace", v.what, n)
		}
	}
	x.Unseen = append(x.Unseen, "whether an SDK retries as well: those of OpenAI and Anthropic do unless max_retries is 0; the dashboard of a proxy reports it (--dashboard)")
}

// listens reports whether a process may listen at u.
func listens(ctx context.Context, u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err == nil {
		_ = c.Close() // nothing was sent
	}
	return !errors.Is(err, syscall.ECONNREFUSED)
}
