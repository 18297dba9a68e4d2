package registry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// places are stores and groups by address. Registries that open one address share it.
type places struct {
	stores map[string]quota.Store
	opened []string
	closed []string
	err    error // of opening and of closing
}

type closing struct {
	quota.Store
	close func() error
}

func (c closing) Close() error { return c.close() }

func (p *places) openers() map[string]registry.Opener {
	store := registry.OpenStore(func(address string, _ ...struct{}) (*closing, error) {
		if p.opened = append(p.opened, address); p.err != nil {
			return nil, p.err
		}
		if p.stores == nil {
			p.stores = map[string]quota.Store{}
		}
		if p.stores[address] == nil {
			p.stores[address] = quota.NewMemoryStore(nil)
		}
		return &closing{p.stores[address], func() error {
			p.closed = append(p.closed, address)
			return p.err
		}}, nil
	})
	return map[string]registry.Opener{"sqlite": store, "redis": store, "group": registry.JoinGroup(p.join)}
}

// member makes guards as a group does.
type member struct {
	of   *places
	path string
}

func (p *places) join(_ context.Context, address string) (*member, error) {
	p.opened = append(p.opened, address)
	return &member{of: p, path: address}, p.err
}

func (m *member) Guard(p guard.Policy) (*guard.Guard, error) {
	if m.of.opened = append(m.of.opened, p.Name); p.Store != nil {
		return nil, errors.New("a store")
	}
	if p.Presets != nil {
		return nil, errors.New("a table")
	}
	return guard.New(p)
}

func (m *member) Close() { m.of.closed = append(m.of.closed, m.path) }

func (p *places) registry(t *testing.T, s string) *registry.Registry {
	t.Helper()
	c := text(t, s)
	c.Open = p.openers()
	return newRegistry(t, c)
}

// Two registries with one store are two processes: weights add up by host and for the service, and
// a call that does not wait is refused at once.
func TestWeightsAndModesHoldInAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p places
		const s = "store: sqlite:limits.db; crawl: 10/min; crawl/*: 4/min"
		one, two := p.registry(t, s), p.registry(t, s)
		began, calls := time.Now(), 0
		call := func(context.Context) error { calls++; return nil }
		weight := func(n int64) throttle.Cost { return throttle.Cost{Requests: n} }
		refused := func(err error, name string) {
			t.Helper()
			var limited *throttle.LimitedError
			require.ErrorAs(t, err, &limited)
			assert.Equal(t, name, limited.Limiter)
			assert.Equal(t, time.Minute, limited.RetryAfter)
			assert.Equal(t, began, time.Now(), "it did not wait")
		}
		require.NoError(t, one.For("crawl", "a").Do(t.Context(), weight(3), call))
		refused(two.For("crawl", "a").Try(t.Context(), weight(2), call), "crawl/a")
		require.NoError(t, two.For("crawl", "a").Try(t.Context(), weight(1), call))
		require.NoError(t, two.For("crawl", "b").Do(t.Context(), weight(4), call))
		refused(one.For("crawl", "c").Try(t.Context(), weight(3), call), "crawl")
		require.NoError(t, one.For("crawl", "c").Try(t.Context(), weight(2), call))
		assert.Equal(t, began, time.Now())
		require.NoError(t, two.For("crawl", "a").Do(t.Context(), weight(2), call))
		assert.Equal(t, time.Minute, time.Since(began), "it waited")
		assert.Equal(t, 5, calls)

		var tooLarge *throttle.CostError
		require.ErrorAs(t, one.For("crawl", "d").Do(t.Context(), weight(5), call), &tooLarge)
		require.NoError(t, errors.Join(one.Close(), two.Close()))
	})
}

func TestAStoreIsOpenedOnceForEachAddress(t *testing.T) {
	var p places
	c := text(t, "store: sqlite:a.db; one: 4/s; two: 4/s; three: 4/s; four: 4/s; five: unlimited; two/*: 4/s; six: 4/s")
	for name, address := range map[string]string{"three": "rediss://h/1", "four": " memory ", "six": "group:/x.sock"} {
		s := c.Guards[name]
		s.Store = address
		c.Guards[name] = s
	}
	c.Open = p.openers()
	r := newRegistry(t, c)
	assert.ElementsMatch(t, []string{"a.db", "rediss://h/1", "unix:/x.sock", "six"}, p.opened)
	for name, address := range map[string]string{"one": "a.db", "two": "a.db", "two/x": "a.db", "three": "rediss://h/1"} {
		store, _ := r.For(name).Policy().Store.(*closing)
		if assert.NotNil(t, store, name) {
			assert.Same(t, p.stores[address], store.Store, name)
		}
	}
	for _, name := range []string{"four", "five", "six", "seven"} {
		assert.Nil(t, r.For(name).Policy().Store, name)
	}
	g, err := r.Replace("one", policy(t, "1/s"))
	require.NoError(t, err)
	assert.NotNil(t, g.Policy().Store)

	p.err = errors.New("busy")
	require.ErrorIs(t, r.Close(), p.err)
	require.ErrorIs(t, r.Close(), p.err)
	assert.ElementsMatch(t, []string{"a.db", "rediss://h/1", "unix:/x.sock"}, p.closed)
}

// A group of a service has URLs, with commas between replicas and options.
func TestTheGroupOfAService(t *testing.T) {
	const service = "https://one:8790,https://two:8790?ca=/etc/ca.pem&token-file=/run/token"
	for _, load := range []func(p *places) *registry.Registry{
		func(p *places) *registry.Registry { return p.registry(t, "store: group:"+service+"; a: unlimited") },
		func(p *places) *registry.Registry {
			c, err := registry.ParseJSON([]byte(`{"store": "group:` + service + `", "guards": {"a": {}}}`))
			require.NoError(t, err)
			c.Open = p.openers()
			return newRegistry(t, c)
		},
	} {
		var p places
		r := load(&p)
		assert.Equal(t, []string{service, "a"}, p.opened)
		require.NoError(t, r.Close())
		assert.Equal(t, []string{service}, p.closed)
	}
	var p places
	require.NoError(t, p.registry(t, "store: group:http://localhost:1; a: unlimited").Close())
	assert.Equal(t, []string{"http://localhost:1", "a"}, p.opened)
}

// A group has the guards that are configured by name. They are made at once, so that an error is that of New.
func TestAGroup(t *testing.T) {
	var p places
	r := p.registry(t, "store: unix:/x.sock; default: 1/s; a: unlimited; b: 4/s; b/*: 1/s")
	assert.ElementsMatch(t, []string{"unix:/x.sock", "a", "b"}, p.opened)
	r.For("b", "c")
	r.For("d")
	assert.Len(t, p.opened, 3)
	require.NoError(t, r.Close())

	c, err := registry.ParseJSON([]byte(`{"store": "group:/x.sock", "guards": {"a": {}}}`), table(t))
	require.NoError(t, err)
	c.Open = p.openers()
	_, err = registry.New(c)
	require.EqualError(t, err, "registry: store: a table")
	assert.Equal(t, []string{"unix:/x.sock", "unix:/x.sock"}, p.closed)
}

func TestAStoreThatCannotBeOpened(t *testing.T) {
	p := places{err: errors.New("no such folder")}
	c := text(t, "store: sqlite:no/limits.db; a: 1/s")
	c.Open = p.openers()
	_, err := registry.New(c)
	require.ErrorIs(t, err, p.err)
	var field *fault.FieldError
	require.ErrorAs(t, err, &field)
	assert.Equal(t, "store", field.Field)
	assert.Empty(t, p.closed)
}

func TestAddresses(t *testing.T) {
	in := func(fields string) string { return `{"guards": {"a": {"limits": "1/s"}, "x": {` + fields + `}}}` }
	for text, want := range map[string]string{
		`{"store": "limits.db", "guards": {"a": {"limits": "1/s"}}}`: `1:11: store: "limits.db" is not an address: write memory, sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT or group:PATH`,
		`{"store": "sqlite:x"}`:                                       "1:11: store: no guard has limits to share there: add limits, or use group:PATH, which shares learned limits",
		`{"store": "sqlite:x", "guards": {"a":{}}}`:                   "1:11: store: no guard has limits to share there: add limits, or use group:PATH, which shares learned limits",
		`{"store": "group:/x", "default": {"limits": "1/s"}}`:         "1:11: store: no guard that can share there is configured by name: add one to guards, such as openai",
		`{"store": "memory"}`:                                         "",
		`{"store": "sqlite:x", "guards": {"a": {"limits": "4/sek"}}}`: `1:50: guards.a.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
		in(`"store": ":x"`):                                           `1:52: guards.x.store: it is not an address: write memory, sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT or group:PATH`,
		in(`"store": "sqlite:"`):                                      `1:52: guards.x.store: "sqlite:" ends after the colon: write memory, sqlite:PATH, redis://HOST:PORT/DB, service:https://HOST:PORT or group:PATH`,
		in(`"store": "sqlite:///x.db"`):                               `1:52: guards.x.store: it is a path and not a URL: write sqlite:PATH, such as sqlite:/run/user/1000/limits`,
		in(`"store": "redis:h"`):                                      `1:52: guards.x.store: the two slashes are missing: write redis://HOST:PORT/DB`,
		in(`"store": "sqlite:x"`):                                     `1:52: guards.x.store: a store shares limits, and there are none: add limits or a preset that has some, or use group:PATH, which shares learned limits`,
		in(`"store": "sqlite:x", "preset": "openai/tier1"`):           "",
		in(`"store": "group:/x"`):                                     "",
		`{"guards": {"a/*": {"limits": "1/s", "store": "group:/x"}}}`: `1:47: guards["a/*"].store: a group shares guards that are configured by name: name one, such as crawl/example.org, or use a store, such as sqlite:PATH`,
		`{"store": "sqlite:x", "guards": {"a": {"limits": "1/s"}, "a/b": {"limits": "1/s", "store": "sqlite:y"}}}`:                               `1:92: guards["a/b"].store: a call can use only one store, but "a/b" and "a" have different ones: give both guards the same one, or memory to one of them`,
		`{"store": "sqlite:x", "guards": {"a": {"limits": "1/s"}, "b": {"limits": "1/s", "store": "sqlite:y"}, "c": {"within": ["a", "b"]}}}`:    `1:108: guards.c.store: a call can use only one store, but "a" and "b" have different ones: give both guards the same one, or memory to one of them`,
		`{"store": "sqlite:x", "guards": {"a": {"limits": "1/s"}, "b": {"limits": "1/s", "store": "memory", "within": ["a"]}}}`:                  "",
		`{"store": "sqlite:x", "default": {"within": ["b"], "limits": "1/s"}, "guards": {"b": {"limits": "1/s", "store": "redis://:secret@h"}}}`: `1:34: default.store: a call can use only one store, but "default" and "b" have different ones: give both guards the same one, or memory to one of them`,
	} {
		_, err := registry.ParseJSON([]byte(text))
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.EqualError(t, err, "registry: line "+want, text)
		}
	}
}

func TestAddressesInText(t *testing.T) {
	for s, want := range map[string]string{
		"store: sqlite:limits.db; ols: 4/s":         "sqlite:limits.db",
		"ols: 4/s;\nStore : redis://u:p@h:1/0":      "redis://u:p@h:1/0",
		"store: memory; ols: 4/s; store: 1/s":       "memory",
		"store: group:/run/x.sock ; ols: unlimited": "group:/run/x.sock",
	} {
		c, err := registry.Parse(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, c.Store, s)
		assert.Contains(t, c.Guards, "ols", s)
	}
	for s, want := range map[string]string{
		"ols: 4/s; store: sqlite:x; store: sqlite:y": "registry: line 1:28: store: the store is given twice: leave one out",
		"store: group:/x":              "registry: line 1:1: store: no guard that can share there is configured by name: add one to guards, such as openai",
		"store: sqlite:/x; ols: 4/sek": `registry: line 1:26: guards.ols.limits: "sek": it is not a period: write s, min, h, day or week, or so many of them as in 15min, 30days or 2h30m`,
	} {
		_, err := registry.Parse(s)
		assert.EqualError(t, err, want, s)
	}
}

func TestNothingOpensAnAddress(t *testing.T) {
	c := text(t, "store: sqlite:limits.db; a: 1/s; b: 1/s; c: 1/s; d: 1/s; e: 1/s")
	for name, address := range map[string]string{"b": "redis://u:secret@h", "c": "unix:/x", "d": "sqllite:x", "e": "service:https://h"} {
		s := c.Guards[name]
		s.Store = address
		c.Guards[name] = s
	}
	want := `registry: store: nothing opens sqlite:...: set Config.Open["sqlite"] to registry.OpenStore(sqlitestore.OpenQuota), of github.com/headrace/headrace/store/sqlitestore
registry: guards.b.store: nothing opens redis:...: set Config.Open["redis"] to registry.OpenStore(redisstore.Open), of github.com/headrace/headrace/store/redisstore
registry: guards.c.store: nothing opens group:...: set Config.Open["group"] to registry.JoinGroup(group.Join), of github.com/headrace/headrace/group
registry: guards.d.store: nothing opens sqllite:...: set Config.Open["sqllite"] to registry.OpenStore of a function that opens such a store
registry: guards.e.store: nothing opens service:...: set Config.Open["service"] to registry.OpenStore(servicestore.Open), of github.com/headrace/headrace/service/servicestore`
	_, err := registry.New(c)
	require.EqualError(t, err, want)
	require.EqualError(t, c.Validate(), want)
}
