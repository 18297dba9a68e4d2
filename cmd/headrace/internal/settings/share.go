package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9/logging"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// Addresses are the forms of --share.
const Addresses = "sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT, group:PATH or group:https://HOST:PORT"

// Shares reports whether addresses of that scheme can be shared by.
func Shares(scheme string) bool {
	return slices.Contains([]string{"sqlite", "redis", "rediss", "service", "group", "unix"}, scheme)
}

// share checks --share, once the limits are known to be valid.
func (r *Run) share(p *problems) {
	const flag = "--share"
	scheme, rest, ok := strings.Cut(r.Share, ":")
	limits := r.Spec.Limits
	switch {
	case r.Share == "":
		return
	case r.Share == "memory":
		p.addf(flag, "memory is that of this process alone: give %s, or leave it out", Addresses)
		return
	case !ok:
		p.addf(flag, "%q is no address: give %s", r.Share, Addresses)
		return
	case !Shares(scheme):
		p.addf(flag, "%q is none of sqlite, redis, service and group: give %s", scheme, Addresses) // what is behind it may be a password
		return
	case rest == "":
		p.addf(flag, "%q ends after the colon: give %s", r.Share, Addresses)
		return
	case scheme != "group" && scheme != "unix" && limits.Concurrency == 0 && len(limits.Windows) == 0 && r.Preset == "":
		p.addf(flag, "%s shares limits that are known, and none is given: add --limit, --rpm, --tpm, --concurrency or --preset, or give group:PATH, which shares the limit that is found", scheme)
		return
	}
	r.Spec.Store = r.Share
	if err := r.registry(nil, nil).Validate(); err != nil {
		p.addf(flag, "%s", Plain(err))
	}
}

// SharePath returns the file that --share names, or an empty path. What follows another scheme may be a
// password.
func (r *Run) SharePath() string {
	scheme, path, _ := strings.Cut(r.Share, ":")
	if slices.Contains([]string{"sqlite", "group", "unix"}, scheme) && !strings.Contains(path, "://") {
		return path
	}
	return ""
}

// WithoutPassword returns the address of --share as it may be shown.
func WithoutPassword(address string) string {
	for _, scheme := range []string{"group:", "service:"} {
		if server, ok := strings.CutPrefix(address, scheme); ok && strings.Contains(server, "://") {
			return scheme + WithoutPassword(server)
		}
	}
	u, err := url.Parse(address)
	switch {
	case !strings.Contains(address, "://"):
		return address
	case err != nil, u.User == nil && strings.Contains(address, "@"): // perhaps a password that is not escaped
		scheme, _, _ := strings.Cut(address, ":")
		return scheme + "://..."
	case u.User == nil:
		return address
	}
	return u.Redacted()
}

// account is what processes that share call the limits. Those with another key or preset have
// others. What can be seen of a key is a part of a hash.
func (r *Run) account() string {
	h := sha256.New()
	add := func(text string) { h.Write([]byte(text + "\x00")) }
	add(strings.ToLower(r.Base.Host))
	add(r.Preset)
	key, _ := r.Key.Reveal() // none: an empty one
	add(key)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if Secretive(name) {
			add(name + ": " + strings.Join(r.Headers[name], ", "))
		}
	}
	const mostHost = 128 // bytes
	host := strings.ToLower(r.Base.Host)
	return host[:min(len(host), mostHost)] + " " + hex.EncodeToString(h.Sum(nil)[:6])
}

func (r *Run) registry(failed func(error) error, observer event.Observer) registry.Config {
	return registry.Config{
		Guards:   map[string]registry.Spec{r.guardName(): r.Spec},
		Observer: observer,
		Open:     Openers(failed),
	}
}

// Openers open the addresses of --share. A store that cannot decide about a call is reported to failed, which returns
// the error of the call.
func Openers(failed func(error) error) map[string]registry.Opener {
	return map[string]registry.Opener{
		"sqlite": registry.OpenStore(func(path string, _ ...struct{}) (*store, error) {
			s, err := OpenStore("sqlite:" + path)
			return &store{s, failed}, err
		}),
		"redis": registry.OpenStore(func(url string, _ ...struct{}) (*store, error) {
			s, err := OpenStore(url)
			return &store{s, failed}, err
		}),
		"service": registry.OpenStore(func(address string, _ ...struct{}) (*store, error) {
			s, err := OpenStore("service:" + address)
			return &store{s, failed}, err
		}),
		"group": registry.JoinGroup(group.Join),
	}
}

// Store is what sqlitestore, redisstore and servicestore open.
type Store interface {
	quota.Store
	quota.Inspector
	quota.Waker
	Close() error
}

// OpenStore opens sqlite:PATH, redis://HOST:PORT/DB or service:https://HOST:PORT, with the token that members of its
// group have. It does not wait for a server. The options are for Redis.
func OpenStore(address string, options ...redisstore.Option) (Store, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		s, err := sqlitestore.OpenQuota(path)
		if err != nil {
			return nil, err // and not a Store that is a nil *Quota
		}
		return s, nil
	}
	if server, ok := strings.CutPrefix(address, "service:"); ok {
		s, err := servicestore.Open(server, servicestore.WithToken(os.Getenv(group.TokenEnv)))
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	logging.Disable() // of go-redis, whose errors are reported anyway
	s, err := redisstore.Open(address, options...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (r *Run) guardName() string {
	if r.Spec.Store == "" {
		return service
	}
	return r.account()
}

// Guard returns the guard of the run, and what ends it. A store that cannot decide about a call is
// reported to failed, which returns the error of the call. The observer receives the events of the
// guard; it may be nil.
func (r *Run) Guard(failed func(error) error, observer event.Observer) (g *guard.Guard, end func() error, err error) {
	reg, err := registry.New(r.registry(failed, observer))
	if err != nil {
		if r.Share != "" {
			err = &Error{"--share", WithoutPassword(r.Share) + ": " + Plain(err)}
		}
		return nil, nil, err
	}
	return reg.Get(r.guardName()), reg.Close, nil
}

// store is the one of --share.
type store struct {
	Store

	failed func(error) error
}

// Take implements quota.Store.
func (s *store) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	g, err := s.Store.Take(ctx, r)
	if err != nil && ctx.Err() == nil && !errors.Is(err, throttle.ErrCost) {
		err = s.failed(err)
	}
	return g, err
}
