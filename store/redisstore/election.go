package redisstore

import (
	"context"
	_ "embed"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

//go:embed election.lua
var electionScript string

// The operations of the script of elections.
const (
	opAcquire = "acquire"
	opRelease = "release"
)

// Election elects one of several processes by a lease in Redis, with fencing: it is a group.Election. It is safe for
// concurrent use.
type Election struct {
	store   *Store
	key     string
	program *program
}

// Election returns the election of that name. Processes that use the same name, prefix and Redis elect one of them. It
// ends with the store, and its methods fail after WithTimeout.
//
// By the clock of Redis, only one candidate at a time has the lease. If Redis loses the key, or its clock jumps
// forward, another candidate can acquire the lease at once, and the previous one notices when it renews the lease.
// If the clock is set back, the lease lapses no later than if it had just been renewed.
func (s *Store) Election(name string) *Election {
	return &Election{store: s, key: s.prefix + "election:" + digest(name, 16), program: programOf(electionScript)}
}

// Acquire takes the lease for d if it is free, or candidate's. The token is larger than every one before; saved is the
// last value passed to Renew. If another candidate has the lease, token is 0, and leader is that candidate.
func (e *Election) Acquire(ctx context.Context, candidate string, d time.Duration) (token int64, leader string, saved []byte, err error) {
	if err := checkLease(d); err != nil {
		return 0, "", nil, err
	}
	reply, err := e.run(ctx, opAcquire, candidate, text(micros(d)))
	if err != nil {
		return 0, "", nil, err
	}
	if len(reply) != 3 {
		return 0, "", nil, wrap(errReply)
	}
	token, isToken := reply[0].(int64)
	leader, isLeader := reply[1].(string)
	kept, isText := reply[2].(string)
	if !isToken || !isLeader || !isText {
		return 0, "", nil, wrap(errReply)
	}
	if kept != "" {
		saved = []byte(kept)
	}
	return token, leader, saved, nil
}

// Renew extends the lease to d from now, and replaces the saved value, unless saved is nil. held is false, and
// nothing changes, if the lease has lapsed, or the token is not that of the last Acquire.
func (e *Election) Renew(ctx context.Context, token int64, d time.Duration, saved []byte) (held bool, err error) {
	if err := checkLease(d); err != nil {
		return false, err
	}
	keeps := "0"
	if saved != nil {
		keeps = "1"
	}
	return e.holds(e.run(ctx, opRenew, text(token), text(micros(d)), keeps, string(saved)))
}

// Release ends the lease of the token, if that is still the last one. What was saved stays.
func (e *Election) Release(ctx context.Context, token int64) error {
	_, err := e.holds(e.run(ctx, opRelease, text(token)))
	return err
}

func (*Election) holds(reply []any, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := ints(reply, 1)
	if err != nil {
		return false, wrap(err)
	}
	return n[0] == 1, nil
}

func (e *Election) run(ctx context.Context, op string, args ...string) ([]any, error) {
	return e.store.run(ctx, &call{
		program: e.program, op: op, keys: []string{e.key}, args: func(time.Time) []string { return args },
	})
}

// longestLease bounds the time for which a candidate that has ended keeps the others from leading.
const longestLease = time.Hour

func checkLease(d time.Duration) error {
	p := invalid.Problems{Owner: "redisstore: Election"}
	if d < time.Millisecond || d > longestLease {
		p.Addf("d", "a lease of %s is not between 1ms and %s: give a few seconds", d, longestLease)
	}
	return p.Err()
}
