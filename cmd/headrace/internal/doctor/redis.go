package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redis checks the server's clock and how it stores data. Commands that the user may not execute are skipped.
func (x *examination) redis(ctx context.Context, s *Store, address string) {
	o, err := redis.ParseURL(address)
	if err != nil {
		return // redisstore.Open has already reported it
	}
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize = true, -1, 1, 1
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	if err := c.Ping(ctx).Err(); err != nil {
		return
	}
	began := time.Now()
	at, err := bounded(ctx, func(ctx context.Context) (time.Time, error) { return c.Time(ctx).Result() })
	took := time.Since(began)
	if err == nil {
		x.clock(s, at.Sub(began.Add(took/2)), took)
	} else {
		x.Unseen = append(x.Unseen, s.Address+": the clock (the user may not execute TIME)")
	}
	text, err := bounded(ctx, func(ctx context.Context) (string, error) { return c.Info(ctx).Result() })
	if err != nil {
		x.Unseen = append(x.Unseen, s.Address+": version, persistence and eviction (the user may not execute INFO)")
		return
	}
	x.info(s, infoOf(text))
}

// clock reports a store's clock that differs by more than the round trip of the request explains.
func (x *examination) clock(s *Store, offset, took time.Duration) {
	s.Clock, s.Exactly = offset.Round(time.Microsecond).Seconds(), (took / 2).Round(time.Microsecond).Seconds()
	if offset.Abs()-took/2 > farOff {
		x.add(Warning, ClockOffset, s.Address, "synchronize both clocks (NTP)",
			"the clock of Redis is %s %s that of this host: it determines when calendar windows such as \"fixed 1000/day\" begin", offset.Abs().Round(time.Second/10), ahead(offset))
	}
}

func ahead(offset time.Duration) string {
	if offset < 0 {
		return "behind"
	}
	return "ahead of"
}

// infoOf parses the reply to INFO.
func infoOf(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

// info reports settings of the server that put the limits at risk.
func (x *examination) info(s *Store, info map[string]string) {
	if v := info["redis_version"]; v != "" {
		s.Server = "Redis " + v
	}
	if info["role"] == "slave" {
		x.add(Problem, StoreReplica, s.Address, "use the address of the primary", "the server is a read-only replica: every call fails")
	}
	if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && policy != "" && policy != "noeviction" {
		x.add(Warning, StoreEvicts, s.Address, "set maxmemory-policy to noeviction, or use a separate Redis for the limits",
			"the server evicts keys when its memory is full (%s): an evicted limit starts from zero, and admits up to twice as much", policy)
	}
	if info["aof_enabled"] == "0" {
		x.add(Note, StoreVolatile, s.Address, "", "the server has no append-only file: after a restart, limits may start from zero, and admit up to twice as much once")
	}
}
