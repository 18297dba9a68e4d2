package redisstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// Look implements quota.Inspector.
func (s *Store) Look(ctx context.Context, key string) (quota.State, error) {
	_, state, err := s.look(ctx, names(nil, s.tag(key), key))
	return state, about(err, func(int) string { return key })
}

// look returns the key that has these names, empty if there is none, and what is held about it.
func (s *Store) look(ctx context.Context, names []string) (key string, state quota.State, err error) {
	reply, err := s.run(ctx, &call{op: opLook, keys: names, args: func(time.Time) []string { return nil }})
	if err != nil || len(reply) == 0 {
		return "", quota.State{}, err
	}
	const texts, numbers = 2, 3 // key, spec; concurrency, slots taken, cooldown
	if len(reply) < texts+numbers {
		return "", quota.State{}, wrap(errReply)
	}
	key, ok1 := reply[0].(string)
	spec, ok2 := reply[1].(string)
	v, err := ints(reply[texts:], numbers)
	if err != nil || !ok1 || !ok2 {
		return "", quota.State{}, wrap(errReply)
	}
	state = quota.State{Limits: throttle.Limits{Concurrency: int(v[0]), Windows: readSpec(spec)}, InFlight: int(v[1]), Cooldown: fromMicros(v[2])}
	if state.Uses, _, err = readUses(state.Limits.Windows, v[numbers:]); err != nil {
		return "", quota.State{}, wrap(err)
	}
	return key, state, nil
}

// Keys implements quota.Inspector. It asks Redis about every key of the store, whatever the prefix. The last value is an
// error if one of them is damaged.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if ctx.Err() != nil {
			yield("", context.Cause(ctx))
			return
		}
		seen := map[string]bool{}
		var damaged error
		for name, err := range s.scan(ctx) {
			name = strings.TrimSuffix(name, ":s")
			if seen[name] {
				continue
			}
			seen[name] = true
			var key string
			if err == nil {
				key, _, err = s.look(ctx, []string{name, name + ":s"})
			}
			if d, ok := errors.AsType[*damage](err); ok { // the others can be listed
				damaged = cmp.Or[error](damaged, &fault.FieldError{Owner: "redisstore", Field: "a key", Problem: d.Error()})
				continue
			}
			if err != nil {
				yield("", err)
				return
			}
			if key != "" && strings.HasPrefix(key, prefix) && !yield(key, nil) {
				return
			}
		}
		if damaged != nil {
			yield("", damaged)
		}
	}
}

// scan yields the names of the store in Redis, and an error at the end if there was one. The client may still wait for
// Redis when ctx has ended.
func (s *Store) scan(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.life, func() { cancel(wrap(errClosed)) })() //nolint:contextcheck // Close ends it too
		names := make(chan string)
		err := wrap(errClosed)
		done := s.background(func() {
			err = wrap(s.client.Scan(ctx, globbed(s.prefix)+"{*}*", func(name string) bool {
				select {
				case names <- name:
					return true
				case <-ctx.Done():
					return false
				}
			}))
		})
		for {
			select {
			case name := <-names:
				if !yield(name, nil) {
					return
				}
			case <-done:
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				if err != nil {
					yield("", err)
				}
				return
			case <-ctx.Done():
				yield("", context.Cause(ctx))
				return
			}
		}
	}
}

// globbed is text as a pattern that matches only it.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// Forget implements quota.Inspector.
func (s *Store) Forget(ctx context.Context, key string) error {
	_, err := s.run(ctx, &call{op: opForget, keys: names(nil, s.tag(key), key), args: func(time.Time) []string {
		return []string{s.channel(), key}
	}})
	return err
}

var _ quota.Inspector = (*Store)(nil)
