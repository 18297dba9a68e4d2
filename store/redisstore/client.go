package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Client is the part of a Redis client that a Store needs. GoRedis makes one from go-redis,
// package rueidisclient from rueidis. It must be safe for concurrent use.
type Client interface {
	// Do sends a command and returns its reply: nil, an int64, a string, or a []any of these. The client
	// must not send a command twice if the first may have been executed. Do should return soon after ctx ends:
	// callers do not wait for it then, but Close does, and up to 1,024 commands may have no answer.
	Do(ctx context.Context, words ...string) (any, error)
	// Scan calls yield with the keys that match a pattern, on every node, until yield returns false.
	Scan(ctx context.Context, pattern string, yield func(key string) bool) error
	// Subscribe calls ready once it listens to a channel, and got with each message, until ctx ends.
	Subscribe(ctx context.Context, channel string, ready func(), got func(message string)) error
}

// GoRedis returns the Client for a client of go-redis: a single server, sentinels or a cluster. The
// options of c apply, except that no command is retried after it was sent. Set its
// ContextTimeoutEnabled: otherwise go-redis holds a connection to a Redis that has stopped until its
// ReadTimeout, although callers of the store have long returned.
func GoRedis(c redis.UniversalClient) Client { return goRedis{c} }

type goRedis struct{ redis.UniversalClient }

// once is a command that go-redis must not retry.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

func (c goRedis) Do(ctx context.Context, words ...string) (any, error) {
	args := make([]any, len(words))
	for i, w := range words {
		args[i] = w
	}
	cmd := once{redis.NewCmd(ctx, args...)}
	_ = c.Process(ctx, cmd) // it is the error of the command
	v, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return v, err
}

func (c goRedis) Scan(ctx context.Context, pattern string, yield func(key string) bool) error {
	cluster, ok := c.UniversalClient.(*redis.ClusterClient)
	if !ok {
		_, err := scanNode(ctx, c.UniversalClient, pattern, yield)
		return err
	}
	var masters []*redis.Client
	found := make(chan *redis.Client)
	var err error
	go func() {
		defer close(found)
		err = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
			found <- c
			return nil
		})
	}()
	for m := range found {
		masters = append(masters, m)
	}
	for _, m := range masters {
		if err != nil {
			return err
		}
		var more bool
		if more, err = scanNode(ctx, m, pattern, yield); !more {
			return err
		}
	}
	return err
}

func scanNode(ctx context.Context, c redis.Cmdable, pattern string, yield func(key string) bool) (more bool, err error) {
	keys := c.Scan(ctx, 0, pattern, 1000).Iterator()
	for keys.Next(ctx) {
		if !yield(keys.Val()) {
			return false, nil
		}
	}
	return true, keys.Err()
}

func (c goRedis) Subscribe(ctx context.Context, channel string, ready func(), got func(message string)) error {
	sub := c.UniversalClient.Subscribe(ctx, channel)
	// Receive waits for Redis, not for ctx.
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	defer sub.Close() //nolint:errcheck // nothing depends on it any more
	if _, err := sub.Receive(ctx); err != nil {
		return err
	}
	ready()
	messages := sub.Channel()
	for {
		select {
		case m, open := <-messages:
			if !open {
				return redis.ErrClosed
			}
			got(m.Payload)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
