package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/emit"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/proxy"
	"github.com/headrace/headrace/registry"
)

// Share configures the processes that a proxy shares its limiters with.
type Share struct {
	Address   string   // as in --share; if empty, the limiters are not shared
	Optional  bool     // if it cannot be joined, the proxy continues alone
	Upstreams []string // the upstreams with shared limiters; nil means all
	Getenv    func(string) string
}

// Own returns the group of this user's processes on this host.
func Own(upstreams []string, getenv func(string) string) (Share, error) {
	dir, err := ownDir(getenv)
	if err != nil {
		return Share{}, err
	}
	return Share{Address: "group:" + filepath.Join(dir, "exec.sock"), Optional: true, Upstreams: upstreams, Getenv: getenv}, nil
}

// ownDir returns a directory that only this user can access.
func ownDir(getenv func(string) string) (string, error) {
	base, name := getenv("XDG_RUNTIME_DIR"), "headrace"
	if info, err := os.Stat(base); base == "" || err != nil || !info.IsDir() {
		base, name = os.TempDir(), "headrace-"+strconv.Itoa(os.Getuid())
	}
	dir := filepath.Join(base, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, private(dir)
}

// registry makes the limiters, and returns a function that leaves the group.
func (s *Share) registry(c *proxy.Config, log *slog.Logger) (*registry.Registry, func() error, error) {
	alone := func() (*registry.Registry, func() error, error) {
		r, err := registry.New(registry.Config{})
		return r, func() error { return nil }, err
	}
	if s.Address == "" {
		return alone()
	}
	config, err := s.config(c, &outage{share: settings.WithoutPassword(s.Address), log: log})
	if err != nil {
		return nil, nil, err
	}
	changes := event.Slog(log, event.WithLevel(level))
	config.Observer = event.Func(func(e event.Event) {
		if e.Kind == event.LimiterChanged && e.Err == nil { // for the events of the group; the proxy's observer receives the events of calls
			emit.Send(changes, e)
		}
	})
	r, err := registry.New(config)
	switch {
	case err == nil:
		return r, r.Close, nil
	case s.Optional:
		log.Warn("limits are not shared with other commands of this user", "err", settings.Plain(err))
		return alone()
	}
	return nil, nil, &settings.Error{Flag: "--share", Problem: settings.WithoutPassword(s.Address) + ": " + settings.Plain(err)}
}

// outage logs that a store fails, at most once a minute, because each request fails with it. The end is logged at the same
// level: a log that shows the one without the other is wrong. Limits that the store cannot read are not an outage.
type outage struct {
	share string
	log   *slog.Logger

	since            atomic.Pointer[time.Time] // of the outage that was logged; nil: it is over
	failing, damaged seldom
}

// seldom is what is logged once a minute at most.
type seldom struct {
	mu   sync.Mutex // guards last
	last time.Time
}

func (s *seldom) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) < time.Minute {
		return false
	}
	s.last = now
	return true
}

// asked is a settings.Asked.
func (o *outage) asked(began time.Time, err error) (again time.Duration, failed error) {
	if err != nil {
		o.failed(err)
		return 0, err
	}
	// What was asked before the outage says nothing about its end.
	if since := o.since.Load(); since != nil && began.After(*since) && o.since.CompareAndSwap(since, nil) {
		o.log.Warn("the store of the shared limits is available again", "share", o.share)
	}
	return 0, nil
}

func (o *outage) failed(err error) {
	now := time.Now()
	if problem, ok := settings.Damaged(err); ok {
		if o.damaged.due(now) {
			o.log.Warn("the store of the shared limits cannot read some of them: requests that need these are rejected", "share", o.share, "err", problem)
		}
	} else if o.failing.due(now) {
		o.log.Warn("the store of the shared limits is failing: requests that need it are rejected", "share", o.share, "err", settings.Plain(err))
		o.since.Store(&now)
	}
}

// config has a guard for each upstream, because only guards configured by name are shared.
func (s *Share) config(c *proxy.Config, o *outage) (registry.Config, error) {
	config := registry.Config{Guards: map[string]registry.Spec{}, Open: settings.Openers(o.asked)}
	scheme, rest, ok := strings.Cut(s.Address, ":")
	if ok && !settings.Shares(scheme) {
		return config, &settings.Error{Flag: "--share", Problem: fmt.Sprintf("%q is not sqlite, redis, service or group: use %s", scheme, settings.Addresses)}
	}
	if !ok || rest == "" {
		return config, &settings.Error{Flag: "--share", Problem: fmt.Sprintf("%q is not an address: use %s", s.Address, settings.Addresses)}
	}
	config.Open["group"] = registry.JoinGroup(s.join)
	given, _ := presets.Lookup(string(c.Preset)) // the preset of its provider, if there is one
	for name, u := range All(c.Upstreams) {
		if s.Upstreams != nil && !slices.Contains(s.Upstreams, name) {
			continue
		}
		at, err := url.Parse(u.URL)
		if err != nil || at.Host == "" {
			continue
		}
		id, host := u.Preset, hostOf(at)
		if spoken := dialect.ByHost(host); id == "" && (spoken == dialect.Auto || string(spoken) == given.Provider) {
			id = c.Preset
		}
		if id == "" && scheme != "group" && scheme != "unix" {
			continue
		}
		guardName := host
		if profile, err := presets.Lookup(string(id)); id != "" && err == nil {
			guardName = profile.Provider + "/" + host // the name that headrace.Transport uses
		}
		config.Guards[guardName] = registry.Spec{Preset: id, Store: s.Address}
	}
	if len(config.Guards) == 0 {
		return config, &settings.Error{Flag: "--share", Problem: scheme + " shares known limits, but none are set: add --preset, or use group:PATH, which shares limits that are found"}
	}
	return config, nil
}

// providerOf returns the provider at u, or an empty name if it is unknown.
func providerOf(u *url.URL) string {
	if name := dialect.ByHost(u.Host); name != dialect.Auto {
		return string(name)
	}
	return ""
}

// hostOf returns the host of u in the form used in names of limiters.
func hostOf(u *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
}

// member is a group. The names of its guards distinguish credentials.
type member struct {
	*group.Group

	share *Share
}

func (s *Share) join(ctx context.Context, address string) (member, error) {
	g, err := group.Join(ctx, address)
	return member{g, s}, err
}

// Guard implements what registry.JoinGroup needs. Processes with different keys in their environments have separate limits.
func (m member) Guard(p guard.Policy) (*guard.Guard, error) {
	if m.share.Getenv != nil {
		p.Name += " " + m.share.fingerprint(p.Name)
	}
	return m.Group.Guard(p)
}

// fingerprint returns a part of a hash of the keys that a command may use for a host.
func (s *Share) fingerprint(host string) string {
	host = host[strings.LastIndexByte(host, '/')+1:]
	h := sha256.New()
	add := func(text string) { h.Write([]byte(text + "\x00")) }
	for name, u := range proxy.Known() {
		if at, err := url.Parse(u.URL); err == nil && at.Host == host {
			for _, key := range keys(name) {
				add(s.Getenv(key))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
