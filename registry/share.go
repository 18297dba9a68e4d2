package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/quota"
)

// Opener opens the addresses of one scheme. OpenStore and JoinGroup return one.
type Opener struct {
	open func(address string) (shared, error)
}

// shared is where guards share with other processes.
type shared struct {
	store quota.Store // of their policies; nil: make makes them
	make  func(guard.Policy) (*guard.Guard, error)
	close func() error
}

// joinTimeout bounds how long New waits for a group.
const joinTimeout = 10 * time.Second

var errJoinSlow = fmt.Errorf("it could not be joined within %s", joinTimeout)

// OpenStore returns an Opener of stores, such as OpenStore(sqlitestore.OpenQuota) or
// OpenStore(redisstore.Open). If the address is a URL, open receives all of it, and
// otherwise the part after the scheme. A store that has a method Close() error is
// closed by Registry.Close.
func OpenStore[S quota.Store, O any](open func(address string, options ...O) (S, error), options ...O) Opener {
	return Opener{func(address string) (shared, error) {
		s, err := open(address, options...)
		if err != nil {
			return shared{}, err
		}
		opened := shared{store: s, close: func() error { return nil }}
		if c, ok := any(s).(interface{ Close() error }); ok {
			opened.close = c.Close
		}
		return opened, nil
	}}
}

// JoinGroup returns an Opener of groups: JoinGroup(group.Join), for group:PATH and
// group:https://HOST:PORT. It takes ten seconds at most.
//
//nolint:contextcheck,nolintlint // New has no context: what it opens outlives that of its caller
func JoinGroup[G interface {
	Guard(p guard.Policy) (*guard.Guard, error)
	Close()
}](join func(ctx context.Context, address string) (G, error),
) Opener {
	return Opener{func(address string) (shared, error) {
		if !ofService(address) {
			address = "unix:" + address
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), joinTimeout, errJoinSlow)
		defer cancel()
		g, err := join(ctx, address)
		if err != nil {
			return shared{}, err
		}
		return shared{make: g.Guard, close: func() error { g.Close(); return nil }}, nil
	}}
}

// ofService reports whether an address of a group is that of a service, and not a path.
func ofService(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// open opens the stores of all entries, one for each address, and makes the guards
// of groups: an error of these is reported now.
func (r *Registry) open(all []entry, openers map[string]Opener) error {
	var ps problems
	for i := range all {
		x := &all[i]
		if _, known := r.shared[x.store]; known || x.store == "" {
			continue
		}
		scheme, rest := cutAddress(x.store)
		s, err := openers[scheme].open(rest)
		if err != nil {
			ps.Add(x.storeAt, err)
			continue
		}
		r.shared[x.store] = s
	}
	err := ps.Err(owner)
	for i := range all {
		x := &all[i]
		if s := r.shared[x.store]; err == nil && s.make != nil {
			if _, e := r.guard(r.slots[x.key]); e != nil {
				ps.Add(x.storeAt, e)
			}
		}
	}
	if err = ps.Err(owner); err != nil {
		err = errors.Join(err, r.Close())
	}
	return err
}

// Close closes the stores that New has opened, and leaves its groups. Calls through
// guards that share then fail, so let them end first. It may be called twice.
func (r *Registry) Close() error {
	r.closing.Do(func() {
		var errs []error
		for _, address := range slices.Sorted(maps.Keys(r.shared)) {
			errs = append(errs, r.shared[address].close())
		}
		r.closed = errors.Join(errs...)
	})
	return r.closed
}

// fresh makes a guard of p, that shares as its recipe says.
func (r *Registry) fresh(p guard.Policy, of *recipe) (*guard.Guard, error) {
	s := r.shared[of.store]
	if s.make != nil {
		return s.make(p)
	}
	if p.Store == nil && s.store != nil {
		p.Store = s.store
	}
	return guard.New(p)
}

// Schemes of addresses that this package knows by name.
const (
	inMemory    = "memory"
	groupScheme = "group"
	redisScheme = "redis"
)

const addressForms = "memory, sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT or group:PATH"

// openerOf is what Config.Open is to have for a scheme.
func openerOf(scheme string) string {
	switch scheme {
	case "sqlite":
		return "registry.OpenStore(sqlitestore.OpenQuota), of github.com/headrace/headrace/store/sqlitestore"
	case redisScheme:
		return "registry.OpenStore(redisstore.Open), of github.com/headrace/headrace/store/redisstore"
	case "service":
		return "registry.OpenStore(servicestore.Open), of github.com/headrace/headrace/service/servicestore"
	case groupScheme:
		return "registry.JoinGroup(group.Join), of github.com/headrace/headrace/group"
	}
	return "registry.OpenStore of a function that opens such a store"
}

// cutAddress returns the scheme of an address by its one name, and what its Opener
// is given.
func cutAddress(address string) (scheme, rest string) {
	scheme, rest, _ = strings.Cut(address, ":")
	if strings.HasPrefix(rest, "//") {
		rest = address
	}
	switch scheme {
	case "rediss":
		scheme = redisScheme
	case "unix":
		scheme = groupScheme
	}
	return scheme, rest
}

func isGroup(address string) bool {
	scheme, _ := cutAddress(address)
	return scheme == groupScheme
}

// isAddress reports whether text begins like an address, and so not like limits.
func isAddress(text string) bool {
	scheme, _, ok := strings.Cut(text, ":")
	return text == inMemory || ok && isScheme(scheme)
}

func isScheme(s string) bool {
	for i, c := range s {
		if c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-') {
			continue
		}
		return false
	}
	return s != ""
}

// addressProblem is what is wrong with an address; empty: nothing. It does not repeat
// what may be a password.
func addressProblem(address string) string {
	scheme, rest := cutAddress(address)
	switch {
	case address == inMemory:
		return ""
	case !strings.Contains(address, ":"):
		return quoted(address) + " is not an address: write " + addressForms
	case !isScheme(scheme):
		return "it is not an address: write " + addressForms
	case rest == "":
		return quoted(address) + " ends after the colon: write " + addressForms
	case scheme == redisScheme && !strings.Contains(rest, "://"):
		return "the two slashes are missing: write redis://HOST:PORT/DB"
	case (scheme == "sqlite" || scheme == groupScheme) && rest == address:
		return "it is a path and not a URL: write " + scheme + ":PATH, such as " + scheme + ":/run/user/1000/limits"
	}
	return ""
}

// place finds where the guard of x shares: where it says so, or else where Config.Store
// says if it has something to share there.
func (c Config) place(x *entry, s *Spec, ps *problems) {
	address, at := strings.TrimSpace(s.Store), document.Below(x.at, storeName)
	switch {
	case s.Store != "":
		problem := addressProblem(address)
		if problem == "" {
			problem = unshareable(x, s, address)
		}
		if problem != "" {
			ps.Mixf(at, "%s", problem)
			return
		}
	default:
		address, at = strings.TrimSpace(c.Store), []string{storeName}
		if c.Store == "" || addressProblem(address) != "" || unshareable(x, s, address) != "" {
			return
		}
	}
	if address != inMemory {
		x.store, x.storeAt = address, at
	}
}

// unshareable says why the guard of x cannot share there; empty if it can.
func unshareable(x *entry, s *Spec, address string) string {
	switch {
	case address == inMemory:
		return ""
	case isGroup(address) && x.template:
		return "a group shares guards that are configured by name: name one, such as crawl/example.org, or use a store, such as sqlite:PATH"
	case !isGroup(address) && s.nothing(&x.policy):
		return "a store shares limits, and there are none: add limits or a preset that has some, or use group:PATH, which shares learned limits"
	}
	return ""
}

// findStores reports what is wrong with the addresses of all entries together.
func (c Config) findStores(all []entry, taken map[string]bool, ps *problems) {
	byKey := map[string]*entry{}
	uses := false
	for i := range all {
		byKey[all[i].key] = &all[i]
		uses = uses || len(all[i].storeAt) == 1
	}
	switch address := strings.TrimSpace(c.Store); {
	case c.Store == "" || address == inMemory:
	case addressProblem(address) != "":
		ps.Addf([]string{storeName}, "%s", addressProblem(address))
	case uses, len(ps.List) > 0: // limits that could not be read are limits
	case isGroup(address):
		ps.Addf([]string{storeName}, "no guard that can share there is configured by name: add one to guards, such as openai")
	default:
		ps.Addf([]string{storeName}, "no guard has limits to share there: add limits, or use group:PATH, which shares learned limits")
	}
	for i := range all {
		if a, b := apart(&all[i], byKey, taken); b != nil {
			ps.Addf(document.Below(all[i].at, storeName), "a call can use only one store, but %s and %s have different ones: give both guards the same one, or memory to one of them",
				quoted(a.key), quoted(b.key))
		}
	}
}

// apart returns two guards that the calls of x pass and that share in different places,
// if there are any.
func apart(x *entry, byKey map[string]*entry, taken map[string]bool) (a, b *entry) {
	seen := map[*entry]bool{}
	var visit func(y *entry)
	visit = func(y *entry) {
		if y == nil || seen[y] || b != nil {
			return
		}
		seen[y] = true
		switch {
		case y.store == "":
		case a == nil:
			a = y
		case a.store != y.store:
			b = y
		}
		for _, key := range y.within {
			visit(byKey[key])
		}
		visit(byKey[outerOf(y.key, func(key string) bool { return taken[key] })])
	}
	visit(x)
	return a, b
}

// findOpeners reports the addresses that nothing can open.
func (c Config) findOpeners(all []entry, ps *problems) {
	told := map[string]bool{}
	for i := range all {
		x := &all[i]
		scheme, _ := cutAddress(x.store)
		if x.store == "" || told[scheme] || c.Open[scheme].open != nil {
			continue
		}
		told[scheme] = true
		ps.Addf(x.storeAt, "nothing opens %s:...: set Config.Open[%q] to %s", scheme, scheme, openerOf(scheme))
	}
}
