package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/service"
)

// serves examines the configuration of headrace serve.
func (x *examination) serves(at *places) {
	in, err := service.Inspect(x.Config)
	if err != nil {
		x.invalid(x.Config, err)
		return
	}
	x.Configuration = &Configuration{Source: x.Config, Guards: []Guard{}}
	for _, l := range in.Limits {
		x.Configuration.Guards = append(x.Configuration.Guards, Guard{
			Name: l.Name, Template: true, Applies: "each " + cmp.Or(l.Scope, "identifier") + resource(l.Resource), Limits: l.Limits, Law: "fixed",
			Store: settings.WithoutPassword(in.Store),
		})
	}
	if in.Store == "memory" {
		x.add(Note, LocalOnly, x.Config, "for several servers, set runtime.store to redis://HOST:PORT/DB", "each server has its own limits: n servers admit n times as much, and a restart forgets what was used")
		return
	}
	at.add(in.Store, nil)
}

func resource(name string) string {
	if name == "" {
		return ""
	}
	return ", " + name
}

// Service is a running headrace serve.
type Service struct {
	Address   string  `json:"address"`
	Status    string  `json:"status"` // healthy, degraded, unhealthy, draining or unreachable
	Reachable bool    `json:"store_reachable"`
	Breaker   string  `json:"breaker,omitempty"` // the breaker in front of its store: closed, open or half_open
	Retry     float64 `json:"retry_after_seconds"`
	Skew      float64 `json:"clock_skew_seconds"` // how long checks are still rejected because the clock of the store has jumped
	Reason    string  `json:"degraded_reason,omitempty"`
	Problem   string  `json:"problem,omitempty"` // of its configuration
}

// mostAnswer bounds the response of a service, in bytes.
const mostAnswer = 4 << 20

// asksService examines the service at Options.Service.
func (x *examination) asksService(ctx context.Context) {
	if x.Options.Service == "" {
		return
	}
	s := &Service{Address: x.Options.Service, Status: Unreachable}
	x.Report.Service = s
	ctx, cancel := x.within(ctx)
	defer cancel()
	if err := x.health(ctx, s); err != nil {
		*s = Service{Address: x.Options.Service, Status: Unreachable}
		x.add(Problem, ServiceDown, x.Options.Service, down(err), "the service does not respond: %s", plain(err))
		return
	}
	var c struct {
		Problem string   `json:"problem"`
		Restart []string `json:"needs_restart"`
	}
	switch status, err := x.get(ctx, "/v1/config", &c); {
	case err != nil:
		x.Unseen = append(x.Unseen, x.Options.Service+": its configuration ("+plain(err)+")")
	case status == http.StatusUnauthorized:
		x.Unseen = append(x.Unseen, x.Options.Service+": its configuration (--token is missing or wrong)")
	case status != http.StatusOK:
		x.Unseen = append(x.Unseen, fmt.Sprintf("%s: its configuration (status %d)", x.Options.Service, status))
	}
	if s.Problem = c.Problem; s.Problem != "" {
		x.add(Problem, ServiceConfig, x.Options.Service, "correct the file; it is read again within a second", "the configuration is invalid, so that an older one is in effect: %s", s.Problem)
	}
	if len(c.Restart) > 0 {
		x.add(Warning, ServiceRestart, x.Options.Service, "restart the service", "changes take effect after a restart: %s", strings.Join(c.Restart, ", "))
	}
	x.judge(s)
}

// health requests the service's health.
func (x *examination) health(ctx context.Context, s *Service) error {
	status, err := x.get(ctx, "/readyz", s)
	s.Address = x.Options.Service
	switch {
	case err != nil:
		return err
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return errGuarded
	case !slices.Contains([]string{"healthy", "degraded", "unhealthy", "draining"}, s.Status):
		return errForeign
	}
	return nil
}

// judge reports what is wrong with a service.
func (x *examination) judge(s *Service) {
	severity, effect := Problem, "checks are rejected"
	if s.Status == "degraded" {
		effect = "checks are decided without the store, according to runtime.outage"
	}
	switch {
	case s.Reason == "clock_skew":
		x.add(severity, ClockOffset, s.Address, "synchronize the clock of the store (NTP); checks resume automatically",
			"the clock of the store has jumped: checks are rejected for another %s", seconds(s.Skew))
	case s.Breaker != "" && s.Breaker != "closed":
		x.add(severity, BreakerOpen, s.Address, "check that the store is running; it is probed automatically", "the breaker in front of the store is %s: %s", s.Breaker, effect)
	case s.Reason == "storage_unavailable":
		x.add(severity, StoreUnreachable, s.Address, "check that the store is running and can be reached from the service", "the store of the service does not respond: %s", effect)
	case s.Status == "draining":
		x.add(Warning, ServiceDown, s.Address, "", "the service is being stopped")
	}
}

// get sends a request to the service, and decodes the JSON response.
func (x *examination) get(ctx context.Context, path string, into any) (status int, err error) {
	transport := &http.Transport{} // no proxy, because the request carries the token
	defer transport.CloseIdleConnections()
	base := x.Options.Service
	if socket, ok := strings.CutPrefix(base, "unix:"); ok {
		base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}
	} else if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, nil)
	if err != nil {
		return 0, errAddress
	}
	if x.Token != "" {
		req.Header.Set("Authorization", "Bearer "+x.Token)
	}
	resp, err := transport.RoundTrip(req) // redirects are not followed, for the same reason
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Unmarshal(text, into) != nil {
			return 0, errForeign
		}
	}
	return resp.StatusCode, nil
}

var (
	errForeign = errors.New("the server there is not headrace serve: correct the address")
	errGuarded = errors.New("the server there requires a password or a token for /readyz, which headrace serve does not")
	errAddress = errors.New("it is not an address such as 127.0.0.1:8790, https://limits.internal:8790 or unix:/run/headrace/limits.sock")
)

// down returns the remedy for a service that does not respond.
func down(err error) string {
	var unresolved *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return "start it there (headrace serve --config FILE), or correct the address"
	case errors.As(err, &unresolved):
		return "correct the host name"
	case errors.Is(err, errForeign), errors.Is(err, errGuarded), errors.Is(err, errAddress):
		return "" // the error already names the remedy
	}
	return "check that it is running, whether it uses TLS (https://), and that this host can reach it"
}

// named returns the readable name of a key. A service separates the parts of a key with a control character.
func named(key string) string {
	if rest, ok := strings.CutPrefix(key, "service/limit/"); ok {
		return strings.ReplaceAll(rest, "\x1f", "/")
	}
	return key
}
