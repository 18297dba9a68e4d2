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
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// Addresses are the forms of --share.
const Addresses = "sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT, group:PATH or group:https://HOST:PORT"

// Shares reports whether limits can be shared through addresses of the scheme.
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
		p.addf(flag, "memory belongs to one process: use %s, or leave --share out", Addresses)
		return
	case !ok:
		p.addf(flag, "%q is not an address: use %s", r.Share, Addresses)
		return
	case !Shares(scheme):
		p.addf(flag, "%q is not sqlite, redis, service or group: use %s", scheme, Addresses) // the rest may be a password
		return
	case rest == "":
		p.addf(flag, "%q ends after the colon: use %s", r.Share, Addresses)
		return
	case scheme != "group" && scheme != "unix" && limits.Concurrency == 0 && len(limits.Windows) == 0 && r.Preset == "":
		p.addf(flag, "%s shares known limits, but none are set: add --limit, --rpm, --tpm, --concurrency or --preset, or use group:PATH, which shares limits that are found", scheme)
		return
	}
	r.Spec.Store = r.Share
	if err := r.registry(nil, nil).Validate(); err != nil {
		p.addf(flag, "%s", Plain(err))
	}
}

// SharePath returns the file that --share names, or an empty path. For other schemes it returns nothing, because the rest
// may hold a password.
func (r *Run) SharePath() string {
	scheme, path, _ := strings.Cut(r.Share, ":")
	if slices.Contains([]string{"sqlite", "group", "unix"}, scheme) && !strings.Contains(path, "://") {
		return path
	}
	return ""
}

// WithoutPassword returns the address of --share in a form that is safe to show.
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
	case err != nil, u.User == nil && strings.Contains(address, "@"): // it may be a password that is not escaped
		scheme, _, _ := strings.Cut(address, ":")
		return scheme + "://..."
	case u.User == nil:
		return address
	}
	return u.Redacted()
}

// account returns the name of the shared limits. It differs between keys and between presets, and
// reveals no more of a key than a part of a hash.
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

func (r *Run) registry(asked Asked, observer event.Observer) registry.Config {
	return registry.Config{
		Guards:   map[string]registry.Spec{r.guardName(): r.Spec},
		Observer: observer,
		Open:     Openers(asked),
	}
}

// Asked is called when a store was asked to admit a call, with when that was. err is nil if the store has decided, and else
// why not. It returns the error of the call, or how long calls wait before one of them asks again.
type Asked func(began time.Time, err error) (again time.Duration, failed error)

// Openers open the addresses of --share.
func Openers(asked Asked) map[string]registry.Opener {
	return map[string]registry.Opener{
		"sqlite": registry.OpenStore(func(path string, _ ...struct{}) (*store, error) {
			s, err := OpenStore("sqlite:" + path)
			return &store{s, asked}, err
		}),
		"redis": registry.OpenStore(func(url string, _ ...struct{}) (*store, error) {
			s, err := OpenStore(url)
			return &store{s, asked}, err
		}),
		"service": registry.OpenStore(func(address string, _ ...struct{}) (*store, error) {
			s, err := OpenStore("service:" + address)
			return &store{s, asked}, err
		}),
		"group": registry.JoinGroup(group.Join),
	}
}

// Store is a store opened by sqlitestore, redisstore or servicestore.
type Store interface {
	quota.Store
	quota.Inspector
	quota.Waker
	Close() error
}

// OpenStore opens sqlite:PATH, redis://HOST:PORT/DB or service:https://HOST:PORT, the last one with the token that members of its
// group use. It does not wait for a server. The options are for Redis.
func OpenStore(address string, options ...redisstore.Option) (Store, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		s, err := sqlitestore.OpenQuota(path)
		if err != nil {
			return nil, err // not a non-nil Store that holds a nil *Quota
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
	logging.Disable() // the logger of go-redis; its errors are reported anyway
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

// Guard returns the guard of the run, and a function that closes it. The observer receives the events of the guard; it may
// be nil.
func (r *Run) Guard(asked Asked, observer event.Observer) (g *guard.Guard, end func() error, err error) {
	config := r.registry(asked, observer)
	config.Open["group"] = registry.JoinGroup(func(ctx context.Context, address string) (*group.Group, error) {
		joined, err := group.Join(ctx, address)
		r.group = joined
		return joined, err
	})
	reg, err := registry.New(config)
	if err != nil {
		if r.Share != "" {
			err = &Error{"--share", WithoutPassword(r.Share) + ": " + Plain(err)}
		}
		return nil, nil, err
	}
	g = reg.Get(r.guardName())
	if err := r.start(g); err != nil {
		return nil, nil, errors.Join(err, reg.Close())
	}
	return g, reg.Close, nil
}

// Alone returns why the run has no connection to the other members of its group, and an empty text if it has one or is not in a
// group.
func (r *Run) Alone() string {
	if r.group == nil {
		return ""
	}
	if s := r.group.Stats(); s.Role == group.Alone {
		return s.Reason
	}
	return ""
}

// startsWith is how many calls a run has in flight at first if nothing is known of its limits. The number doubles
// with each round trip until the first rejection.
const startsWith = 32

// start has the controller of a run without limits begin with the first call. Otherwise all workers of the run would call at once.
func (r *Run) start(g *guard.Guard) error {
	p := g.Policy()
	if _, measured := p.Law.(adaptive.Measured); p.Law != nil && !measured || p.Preset != "" || p.Store != nil || p.Limits.Concurrency > 0 || len(p.Limits.Windows) > 0 {
		return nil
	}
	p.Law = adaptive.Measured{Initial: startsWith}
	return g.Set(p)
}

// store is the store of --share.
type store struct {
	Store

	asked Asked
}

// Take implements quota.Store.
func (s *store) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	began := time.Now()
	g, err := s.Store.Take(ctx, r)
	left := ctx.Err() != nil && !errors.Is(context.Cause(ctx), inflight.ErrStoreSlow) // the caller has
	if err != nil && left || errors.Is(err, throttle.ErrCost) {
		return g, err
	}
	again, err := s.asked(began, err)
	if again > 0 && err == nil {
		g = quota.Grant{Wait: again, Bound: throttle.Bound{Kind: throttle.BoundByStore, Wait: again}}
	}
	return g, err
}
