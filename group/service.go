package group

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/header"
)

// protocol is what members and a service agree on in the header Upgrade.
const protocol = "headrace-group/1"

// service is the site of processes on several hosts: the replicas of a service, one of which leads.
// Members never lead.
type service struct {
	replicas  []*url.URL
	token     func() (string, error)
	transport *http.Transport

	first int // the replica to try first; of the goroutine that dials
}

// dialTimeout bounds an attempt to reach one replica.
const dialTimeout = 2 * time.Second

func (s *service) patience() patience {
	all := time.Duration(len(s.replicas)) * dialTimeout
	return patience{
		first: all, grace: grace, dial: all, soonest: 50 * time.Millisecond, latest: 300 * time.Millisecond, jitter: true,
	}
}

// succeed implements site: members do not lead.
func (*service) succeed(_ context.Context, cause error) (*reign, error) {
	if isTimeout(cause) {
		return nil, errLed
	}
	return nil, cause
}

// dial asks the replicas in turn, and the one that another names as the leader.
func (s *service) dial(ctx context.Context, d time.Duration, _ bool) (l *link, leader int, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(d, soonest))
	defer cancel()
	until, _ := ctx.Deadline()
	var problems error
	first := s.first
	for i := range s.replicas {
		n := (first + i) % len(s.replicas)
		part := time.Until(until) / time.Duration(len(s.replicas)-i)
		l, leader, err = s.reach(ctx, s.replicas[n], part)
		if led, ok := errors.AsType[*ledError](err); ok {
			if at := led.at(s.replicas[n]); at != nil && s.trusts(at) {
				l, leader, err = s.reach(ctx, at, part)
			}
		}
		if err == nil {
			s.first = n
			return l, leader, nil
		}
		problems = cmp.Or(problems, err)
		if isTimeout(err) { // the next attempt begins with another one
			s.first = (n + 1) % len(s.replicas)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, 0, problems
}

// reach connects to the leader at u within about d.
func (s *service) reach(ctx context.Context, u *url.URL, d time.Duration) (l *link, leader int, err error) {
	conn, err := s.upgrade(ctx, u, d)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", u.Host, err)
	}
	l = newLink(conn)
	l.at = u.Scheme + "://" + u.Host
	other, err := l.greet(hello{Version: version, PID: os.Getpid()}, true)
	if err != nil {
		l.fail(err)
		return nil, 0, fmt.Errorf("%s: %w", u.Host, err)
	}
	return l, other.PID, nil
}

// upgrade asks the replica at u for a connection.
func (s *service) upgrade(ctx context.Context, u *url.URL, d time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, max(d, soonest))
	defer cancel()
	a := &attempt{ctx: ctx}
	upgrades := false
	defer func() {
		if !upgrades {
			a.end(false)
		}
	}()
	r, err := http.NewRequestWithContext(a.begin(), http.MethodGet, u.String(), http.NoBody) //nolint:contextcheck // it is within ctx
	if err != nil {
		return nil, err
	}
	authorization, err := s.authorization()
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	resp, err := s.transport.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil && context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // as context returns it
			err = context.DeadlineExceeded // which isTimeout knows
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		err = refusal(resp)
		_ = resp.Body.Close() // nothing was written
		return nil, err
	}
	body, ok := resp.Body.(io.ReadWriteCloser)
	if upgrades = ok && resp.Header.Get("Upgrade") == protocol; !upgrades {
		return nil, fmt.Errorf("it does not speak %s: give the address of a service, such as https://HOST:PORT%s", protocol, Path)
	}
	return &upgraded{a.end(true), body}, nil
}

// authorization is the header of that name; empty without a token.
func (s *service) authorization() (string, error) {
	token, err := s.token()
	if err != nil || token == "" {
		return "", err
	}
	if value := "Bearer " + token; len(token) <= mostSecret && header.ValueProblem(value) == "" {
		return value, nil
	}
	return "", fmt.Errorf("the token cannot be sent in a header: it has more than %d bytes, or a line break", mostSecret)
}

// upgraded is a connection after HTTP. Close does not wait for a peer that does not read, as TLS does.
type upgraded struct {
	net.Conn // below TLS

	above io.ReadWriter
}

// Read implements net.Conn.
func (u *upgraded) Read(b []byte) (int, error) { return u.above.Read(b) }

// Write implements net.Conn.
func (u *upgraded) Write(b []byte) (int, error) { return u.above.Write(b) }

// answer is what a Handler answers instead of a connection.
type answer struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Leader  string `json:"leader,omitempty"`
	} `json:"error"`
}

// Codes of answers.
const (
	codeNotLeader = "NOT_LEADER" // leader is the one, if it is known
	codeFull      = "TOO_MANY_MEMBERS"
	codeUpgrade   = "UPGRADE_REQUIRED"
)

// refusal is the error of an answer that is no connection.
func refusal(resp *http.Response) error {
	var a answer
	text, _ := bufio.NewReader(io.LimitReader(resp.Body, 1<<12)).ReadBytes(0) // as much as there is
	_ = json.Unmarshal(text, &a)                                              // a balancer may answer in other words
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("the service refuses the token with status %d: set %s, or add ?token-file=FILE to the address", resp.StatusCode, TokenEnv)
	case a.Error.Code == codeNotLeader:
		return &ledError{a.Error.Leader}
	case a.Error.Code != "":
		return fmt.Errorf("the service answers with status %d, %s", resp.StatusCode, bounded(header.Shown(a.Error.Code)))
	}
	return fmt.Errorf("the service answers with status %d: its group is at %s by default", resp.StatusCode, Path)
}

// ledError is the answer of a replica that does not lead.
type ledError struct{ leader string }

func (*ledError) Error() string { return "this replica does not lead" }

// trusts reports whether u, which a replica has named as the leader, may receive the token: it is on a host of the
// address or below it, or its certificate has to be one of the CA of the address. The name of the leader is from a
// database, and every host has a certificate that the system's roots accept.
func (s *service) trusts(u *url.URL) bool {
	if c := s.transport.TLSClientConfig; u.Scheme == "https" && c != nil && c.RootCAs != nil {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return slices.ContainsFunc(s.replicas, func(r *url.URL) bool {
		given := strings.ToLower(r.Hostname())
		return host == given || net.ParseIP(given) == nil && strings.HasSuffix(host, "."+given)
	})
}

// at is where the leader is; nil: not known. A token is not sent in the clear because of an answer.
func (e *ledError) at(from *url.URL) *url.URL {
	u, problem := replica(e.leader)
	if problem != "" || u.Scheme != from.Scheme || u.RawQuery != "" {
		return nil
	}
	return u
}
