// Package rueidisclient has package redisstore use a client of rueidis.
//
//	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
//	if err != nil {
//		return err
//	}
//	store, err := redisstore.New(rueidisclient.New(c))
package rueidisclient

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/headrace/headrace/store/redisstore"
)

// New returns the client of a store. rueidis retries only commands that read, which those of a store are not.
func New(c rueidis.Client) redisstore.Client { return client{c} }

type client struct{ rueidis.Client }

func (c client) Do(ctx context.Context, words ...string) (any, error) {
	b := c.B().Arbitrary(words[0])
	args := words[1:]
	if len(words) > 2 && (words[0] == "EVALSHA" || words[0] == "EVAL") {
		keys, _ := strconv.Atoi(words[2])
		b, args = b.Args(words[1:3]...), words[3:]
		b = b.Keys(args[:keys]...)
		args = args[keys:]
	}
	v, err := c.Client.Do(ctx, b.Args(args...).Build()).ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return v, err
}

func (c client) Scan(ctx context.Context, pattern string, yield func(key string) bool) error {
	for _, node := range c.Nodes() {
		for cursor := uint64(0); ; {
			e, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()).AsScanEntry()
			if err != nil {
				return err
			}
			for _, key := range e.Elements {
				if !yield(key) {
					return nil
				}
			}
			if cursor = e.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}

func (c client) Subscribe(ctx context.Context, channel string, ready func(), got func(message string)) error {
	d, cancel := c.Dedicate()
	defer cancel()
	closed := d.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { got(m.Message) },
		OnSubscription: func(rueidis.PubSubSubscription) { ready() },
	})
	if err := d.Do(ctx, d.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		return err
	}
	select {
	case err := <-closed:
		return errors.Join(errors.New("the subscription has ended"), err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
