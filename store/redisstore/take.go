package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

// Take implements quota.Store. Equal requests of several callers are sent as one.
func (s *Store) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if ctx.Err() != nil {
		return quota.Grant{}, context.Cause(ctx)
	}
	if err := r.Validate(); err != nil {
		return quota.Grant{}, err
	}
	if err := zones(r.Demands); err != nil {
		return quota.Grant{}, err
	}
	if parts := s.parts(r.Demands); len(parts) > 1 {
		return s.takeParts(ctx, &r, parts)
	}
	q := query{Request: r}
	if r.Peek {
		q.mode = peek
	}
	return s.takeOne(ctx, &q)
}

// TakeBatch implements quota.Batcher for up to 256 calls, and for keys of one group.
func (s *Store) TakeBatch(ctx context.Context, r quota.Request, n int) ([]quota.Grant, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.Peek || r.Uses || n < 1 || n > mostMerged {
		return nil, errors.ErrUnsupported
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := zones(r.Demands); err != nil {
		return nil, err
	}
	if len(s.parts(r.Demands)) > 1 {
		return nil, errors.ErrUnsupported
	}
	return s.takeSome(ctx, newShape(s, &query{Request: r}), n, nil)
}

// takeOne takes from the keys of one group.
func (s *Store) takeOne(ctx context.Context, q *query) (quota.Grant, error) {
	if (q.mode == "" || q.mode == take) && q.floor == 0 && !q.Uses {
		return s.queues.take(ctx, s, &q.Request)
	}
	grants, err := s.takeSome(ctx, newShape(s, q), 1, nil)
	if err != nil {
		return quota.Grant{}, err
	}
	return grants[0], nil
}

// mode is what a query changes, in the words of the script.
type mode string

const (
	take mode = "take"
	ask  mode = "ask"  // nothing but limits
	peek mode = "peek" // nothing
)

// query is a request to the script.
type query struct {
	quota.Request

	mode  mode  // take, if empty
	floor int64 // the least token
}

// shape is a query that several callers make at once.
type shape struct {
	query

	keys  []string
	words []string // of the demands, unless they are dated
}

func newShape(s *Store, q *query) *shape {
	h := &shape{query: *q}
	if h.mode == "" {
		h.mode = take
	}
	h.Demands = slices.Clone(q.Demands)
	for i := range h.Demands {
		d := &h.Demands[i]
		d.Limits.Windows = slices.Clone(d.Limits.Windows)
		h.keys = names(h.keys, s.tag(d.Key), d.Key)
	}
	if !dated(h.Demands) {
		h.words = h.demands(nil, time.Time{})
	}
	return h
}

func (h *shape) demands(words []string, now time.Time) []string {
	for i := range h.Demands {
		d := &h.Demands[i]
		a := tally.Amounts(d.Cost)
		words = demand(words, d, &a, now)
	}
	return words
}

// args are those of the script for n calls.
func (h *shape) args(n int, id string, now time.Time) []string {
	words := append(make([]string, 0, 6+len(h.words)), strconv.Itoa(n), id, text(micros(h.Lease)), text(h.floor), string(h.mode), flag(h.Uses))
	if h.words != nil {
		return append(words, h.words...)
	}
	return h.demands(words, now)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// takeSome asks for n calls of one shape at one instant, and returns as many grants. If the answer comes too late,
// what was taken is given back.
func (s *Store) takeSome(ctx context.Context, h *shape, n int, late func([]quota.Grant)) ([]quota.Grant, error) {
	id := s.id + strconv.FormatInt(s.seq.Add(1), 36)
	c := call{op: opTake, keys: h.keys, args: func(now time.Time) []string { return h.args(n, id, now) }}
	c.late = func(reply []any) {
		grants, err := h.grants(reply, n, id)
		switch {
		case err != nil:
		case late != nil:
			late(grants)
		default:
			s.giveBack(grants)
		}
	}
	if h.mode == take && h.leased() {
		c.lost = func() { s.reclaims.add(s, lostTake{demands: h.Demands, id: id, n: n, lapses: time.Now().Add(h.Lease)}) }
	}
	reply, err := s.run(ctx, &c)
	if err != nil {
		return nil, about(err, func(i int) string { return h.Demands[i].Key })
	}
	return h.grants(reply, n, id)
}

// grants reads the script's reply for n calls.
func (h *shape) grants(reply []any, n int, id string) ([]quota.Grant, error) {
	const head = 7 // how many fit, when, the first token; what the others wait for: how long, kind, demand, window
	v, err := ints(reply, head)
	if err != nil {
		return nil, wrap(err)
	}
	if h.mode != take && v[3] == 0 {
		v[0] = 1
	}
	grants := make([]quota.Grant, n)
	var ids strings.Builder // of all tickets, in one piece of memory
	ids.Grow(n * (len(id) + len(".255")))
	for i := range grants {
		g := &grants[i]
		switch {
		case i >= int(v[0]):
			if err := h.refuse(g, v[3:head]); err != nil {
				return nil, wrap(err)
			}
		case h.mode == take:
			from := ids.Len()
			ids.WriteString(id)
			ids.WriteByte('.')
			ids.WriteString(strconv.Itoa(i))
			g.Ticket = quota.Ticket{
				ID: ids.String()[from:], At: v[1] * int64(time.Microsecond), Token: v[2] + int64(i),
				Demands: slices.Clip(h.Demands), // what is in tickets is only read
			}
		}
	}
	if h.Uses {
		grants[0].Uses = make([][]throttle.WindowUse, 0, len(h.Demands))
		rest := v[head:]
		for i := range h.Demands {
			var uses []throttle.WindowUse
			if uses, rest, err = readUses(h.Demands[i].Limits.Windows, rest); err != nil {
				return nil, wrap(err)
			}
			grants[0].Uses = append(grants[0].Uses, uses)
		}
	}
	return grants, nil
}

// ticketID is the ID of the i-th call of a take.
func ticketID(id string, i int) string { return id + "." + strconv.Itoa(i) }

// refuse reads what a call waits for.
func (h *shape) refuse(g *quota.Grant, v []int64) error {
	if v[0] <= 0 || v[2] < 0 || v[2] >= int64(len(h.Demands)) {
		return errReply
	}
	g.Wait, g.Demand = fromMicros(v[0]), int(v[2])
	g.Bound.Wait = g.Wait
	windows := h.Demands[g.Demand].Limits.Windows
	switch v[1] {
	case 1:
		if v[3] < 0 || v[3] >= int64(len(windows)) {
			return errReply
		}
		g.Bound.Kind, g.Bound.Window = throttle.BoundByWindow, windows[v[3]]
	case 2:
		g.Bound.Kind = throttle.BoundByConcurrency
	default:
		g.Bound.Kind = throttle.BoundByPause
	}
	return nil
}

func readUses(windows []throttle.Window, v []int64) (uses []throttle.WindowUse, rest []int64, err error) {
	if len(v) < 3*len(windows) {
		return nil, nil, errReply
	}
	uses = make([]throttle.WindowUse, len(windows))
	for i, w := range windows {
		uses[i] = throttle.WindowUse{Window: w, Spent: v[0], Left: w.Max() - v[0], FreesIn: fromMicros(v[1]), ResetsIn: fromMicros(v[2])}
		v = v[3:]
	}
	return uses, v, nil
}

// giveBack cancels grants of one request that no caller wants, up to an error: then leases lapse, and what is not given
// back counts as used. Those without a lease that were taken at one instant are one command.
func (s *Store) giveBack(grants []quota.Grant) {
	for len(grants) > 0 {
		t, n := grants[0].Ticket, 1
		if t.ID != "" && !t.Leased() {
			for n < len(grants) && grants[n].Ticket.ID != "" && grants[n].Ticket.At == t.At {
				n++
			}
		}
		grants = grants[n:]
		if t.ID != "" {
			err := s.finishOne(s.life, t, int64(n), func(int) amounts { return amounts{} })
			if err != nil && !errors.Is(err, quota.ErrLeaseLost) {
				return
			}
		}
	}
}
