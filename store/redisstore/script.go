package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/inflight"
	"github.com/headrace/headrace/internal/promise"
)

//go:embed script.lua
var script string

// The operations of the script. Its first argument is the time, empty for that of Redis.
const (
	opTake   = "take"
	opFinish = "finish"
	opRenew  = "renew"
	opCool   = "cool"
	opLook   = "look"
	opForget = "forget"
)

// otherTime is the script's reply to periods of calendars that are not of its time, followed by the time.
const otherTime = -1

var (
	errSlow   = errors.New("no answer in time")
	errBusy   = errors.New("too many commands without an answer")
	errClosed = inflight.ErrStoreClosed
	errReply  = errors.New("an unknown reply: another program uses the keys, or another version of the store")
)

// mostUnanswered bounds the commands that wait for an answer at a time, also with a client that ignores its context.
const mostUnanswered = 1024

// program is a script.
type program struct{ text, sha string }

func programOf(text string) *program {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts by it
	return &program{text, hex.EncodeToString(sum[:])}
}

// call is an operation on the keys of one tag.
type call struct {
	program *program // nil: that of the store

	op   string
	keys []string
	args func(now time.Time) []string
	// late is called with the reply if it came after the caller had gone; nil: not.
	late func(reply []any)
	// lost is called if no reply came in time, although Redis may have done it, or may yet do it; nil: not.
	lost func()
}

// run has Redis do c. It returns when ctx ends or no answer comes in time, whatever the client does.
func (s *Store) run(ctx context.Context, c *call) ([]any, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	timed, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.timeout, errSlow)
	p := promise.New[[]any]()
	if !s.begin() {
		cancel()
		return nil, wrap(errClosed)
	}
	go func() {
		defer s.wg.Done()
		defer cancel()
		defer context.AfterFunc(s.life, cancel)() //nolint:contextcheck // Close ends it too
		reply, err := s.send(timed, c)
		if c.lost != nil && unanswered(timed, err) {
			c.lost()
		}
		if !p.Deliver(reply, wrap(err)) && err == nil && c.late != nil {
			c.late(reply)
		}
	}()
	var err error
	select {
	case <-p.Done():
		return p.Take()
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timed.Done():
		err = wrap(context.Cause(timed))
	case <-s.life.Done():
	}
	if s.life.Err() != nil {
		err = wrap(errClosed)
	}
	if p.Abandon() {
		return nil, err
	}
	return p.Take()
}

// unanswered reports whether a command with this error was sent and got no answer in time.
func unanswered(timed context.Context, err error) bool {
	if err == nil || errors.Is(err, errBusy) {
		return false
	}
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(timed.Err(), context.DeadlineExceeded) // the client's may be first
}

// send asks with this process's idea of the time, and once more with Redis' own if calendars need that.
func (s *Store) send(ctx context.Context, c *call) (reply []any, err error) {
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	case <-ctx.Done():
		return nil, errBusy
	}
	for range 3 {
		if reply, err = s.eval(ctx, c); err != nil || len(reply) != 2 || reply[0] != int64(otherTime) {
			return reply, err
		}
		s.learn(reply[1])
	}
	return nil, errReply
}

func (s *Store) eval(ctx context.Context, c *call) ([]any, error) {
	p := c.program
	if p == nil {
		p = s.program
	}
	words := append(make([]string, 0, 64), "EVALSHA", p.sha, strconv.Itoa(len(c.keys)))
	words = append(words, c.keys...)
	words = append(words, s.clock(), c.op)
	words = append(words, c.args(s.redisNow())...)
	v, err := s.client.Do(ctx, words...)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		words[0], words[1] = "EVAL", p.text
		v, err = s.client.Do(ctx, words...)
	}
	if err != nil {
		return nil, found(err, c.keys)
	}
	reply, ok := v.([]any)
	if !ok {
		return nil, errReply
	}
	return reply, nil
}

// damage is the script's error about one of its keys.
type damage struct {
	at   int    // which one, from 0
	name string // of its value in Redis
}

func (d *damage) Error() string {
	return fmt.Sprintf("what Redis holds at %s is damaged, or written by another program or another version of redisstore: "+
		"Forget removes it, as DEL %[1]s %[1]s:s in Redis does, and the limits begin anew", d.name)
}

// found is err, as a damage if the script reports one in the keys with these names.
func found(err error, names []string) error {
	_, rest, ok := strings.Cut(err.Error(), "HEADRACE damaged ")
	if !ok {
		return err
	}
	digits, _, _ := strings.Cut(rest, " ")
	at, bad := strconv.Atoi(digits)
	if bad != nil || at < 1 || 2*at > len(names) {
		return err
	}
	return &damage{at - 1, names[2*at-2]}
}

// about is err, as one about the key that is damaged. A damaged key says nothing about the others, so that
// quota.WithFallback must not count it as a failure of the store.
func about(err error, key func(i int) string) error {
	d, ok := errors.AsType[*damage](err)
	if !ok {
		return err
	}
	return &fault.FieldError{Owner: "redisstore", Field: fmt.Sprintf("the limits of %q", key(d.at)), Problem: d.Error()}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	// Redis rejects the length of the script before it asks for a password.
	if text := err.Error(); strings.Contains(text, "unauthenticated") || strings.HasPrefix(text, "NOAUTH") {
		return fmt.Errorf("redisstore: the server requires a password, which the URL or the client's options have to set: %w", err)
	}
	return fmt.Errorf("redisstore: %w", err)
}

// redisNow is the time by the clock of Redis, as far as it is known here.
func (s *Store) redisNow() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// learn notes the time of a reply.
func (s *Store) learn(us any) {
	if n, ok := us.(int64); ok {
		s.ahead.Store(int64(time.Until(time.UnixMicro(n))))
	}
}

// ints are the numbers of a reply.
func ints(reply []any, least int) ([]int64, error) {
	if len(reply) < least {
		return nil, errReply
	}
	list := make([]int64, len(reply))
	for i, v := range reply {
		n, ok := v.(int64)
		if !ok {
			return nil, errReply
		}
		list[i] = n
	}
	return list, nil
}
