package decide_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/rules"
)

func TestCheck(t *testing.T) {
	f := start(t, limits)
	now := f.clock.Now()
	r := f.check(t, search(4))
	assert.True(t, r.Allowed)
	assert.Equal(t, "user/search", r.Rule)
	assert.Equal(t, int64(6), r.Remaining)
	assert.Equal(t, int64(10), r.Capacity)
	assert.Equal(t, now.Add(4*time.Second), r.ResetAt)
	assert.Zero(t, r.RetryAfter)
	assert.NotEmpty(t, r.Permit)
	assert.Equal(t, []decide.Window{{Name: "user/search", Quota: 10, Per: 10 * time.Second, Left: 6, ResetsIn: 4 * time.Second}}, r.Windows)

	r = f.check(t, search(8))
	assert.False(t, r.Allowed)
	assert.Equal(t, 2*time.Second, r.RetryAfter)
	assert.Equal(t, int64(6), r.Remaining, "a refused check takes nothing")
	assert.Empty(t, r.Permit)

	f.clock.Advance(2 * time.Second)
	assert.True(t, f.check(t, search(8)).Allowed)
	o := <-f.seen
	assert.Equal(t, decide.Observation{Scope: "user", Known: true, Outcome: "allowed", Tokens: 4, Share: 0.6}, o)
	assert.Equal(t, "refused", (<-f.seen).Outcome)
}

func TestOthersHaveLimitsOfTheirOwn(t *testing.T) {
	f := start(t, limits)
	f.check(t, search(10))
	for _, c := range []decide.Check{
		{Identifier: "bob", Resource: "search", Tokens: 10},
		{Identifier: "alice", Resource: "mail", Tokens: 50},
		{Scope: "group", Identifier: "alice", Resource: "search", Tokens: 1000},
	} {
		assert.True(t, f.check(t, c).Allowed, c)
	}
}

func TestDryRunTakesNothing(t *testing.T) {
	f := start(t, limits)
	c := search(6)
	c.DryRun = true
	for range 3 {
		r := f.check(t, c)
		assert.True(t, r.Allowed)
		assert.Equal(t, int64(10), r.Remaining)
		assert.Empty(t, r.Permit)
	}
	f.check(t, search(6))
	assert.False(t, f.check(t, c).Allowed)
	f.check(t, search(4))
	assert.Zero(t, f.left(t, search(1)))
	assert.Empty(t, f.Blocked(5), "neither a dry run nor a look refuses a call")
}

func TestCosts(t *testing.T) {
	f := start(t, limits)
	r := f.check(t, decide.Check{Identifier: "alice", Resource: "export", Tokens: 2})
	assert.Equal(t, int64(30), r.Remaining, "two tokens cost ten each")
	require.NoError(t, f.Settle(t.Context(), r.Permit, []int64{1}))
	assert.Equal(t, int64(40), f.left(t, decide.Check{Scope: "user", Identifier: "alice", Resource: "export"}))
}

func TestOneShot(t *testing.T) {
	f := start(t, limits)
	c := decide.Check{Scope: "trial", Identifier: "alice", Resource: "x", Tokens: 2}
	r := f.check(t, c)
	assert.True(t, r.Allowed)
	assert.True(t, r.ResetAt.IsZero())
	r = f.check(t, c)
	assert.False(t, r.Allowed)
	assert.Equal(t, decide.Never, r.RetryAfter)
	f.clock.Advance(10 * 365 * 24 * time.Hour)
	assert.False(t, f.check(t, c).Allowed, "it is not refilled in ten years")
	c.Tokens = 1
	assert.True(t, f.check(t, c).Allowed)
}

func TestMinRefillInterval(t *testing.T) {
	f := start(t, limits)
	c := decide.Check{Scope: "slow", Identifier: "alice", Resource: "x", Tokens: 2}
	f.check(t, c)
	assert.Equal(t, 3*time.Second, f.check(t, c).RetryAfter, "a second would do for the tokens")
}

func TestWindows(t *testing.T) {
	f := start(t, limits)
	c := decide.Check{Scope: "org", Identifier: "7", Resource: "x", Tokens: 5}
	assert.True(t, f.check(t, c).Allowed)
	r := f.check(t, c)
	assert.False(t, r.Allowed)
	assert.Equal(t, time.Second, r.RetryAfter)
	assert.Equal(t, int64(0), r.Remaining)
	assert.Equal(t, int64(5), r.Capacity, "the window of a second is the tightest")
	assert.Len(t, r.Windows, 2)
	assert.Equal(t, "org/1m0s", r.Windows[1].Name)
}

func TestBadInput(t *testing.T) {
	f := start(t, limits)
	for _, tc := range []struct {
		c           decide.Check
		field, want string
	}{
		{decide.Check{Resource: "x"}, "identifier", "it is missing"},
		{decide.Check{Identifier: "a"}, "resource", "it is missing"},
		{decide.Check{Identifier: "a", Resource: "x", Tokens: -1}, "tokens", "-1 is not between 1 and 100000"},
		{decide.Check{Identifier: "a", Resource: "x", Tokens: 100_001}, "tokens", "100001 is not between"},
		{decide.Check{Identifier: "a\x00", Resource: "x"}, "identifier", "it has a control character"},
		{decide.Check{Identifier: "a", Resource: "x\x1f"}, "resource", "it has a control character"},
		{decide.Check{Identifier: "a", Resource: "\xff"}, "resource", "it is not UTF-8"},
		{decide.Check{Identifier: "a\uFFFD", Resource: "x"}, "identifier", "it has U+FFFD"},
		{decide.Check{Identifier: strings.Repeat("a", 1025), Resource: "x"}, "identifier", "it has more than 1024 bytes"},
		{decide.Check{Identifier: "a", Resource: "x", Scope: strings.Repeat("a", 257)}, "scope", "it has more than 256 bytes"},
		{decide.Check{Scope: "org", Resource: "x", Metadata: map[string]string{"user": "a"}}, "identifier", "metadata has no \"org\""},
		{decide.Check{Identifier: "a", Resource: "search", Scope: "user", Tokens: 11}, "tokens", "they cost 11, and the limit never holds more than 10"},
	} {
		_, err := f.Check(t.Context(), tc.c)
		e, ok := errors.AsType[*fault.FieldError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, tc.field, e.Field)
		assert.Contains(t, e.Problem, tc.want)
		_, err = f.CheckAll(t.Context(), []decide.Check{search(1), tc.c})
		require.ErrorContains(t, err, "checks[1]."+tc.field)
	}
	assert.Equal(t, int64(10), f.left(t, search(1)), "nothing was taken")
	_, err := f.CheckAll(t.Context(), nil)
	require.ErrorContains(t, err, "checks: 0 checks")
	_, err = f.CheckAll(t.Context(), make([]decide.Check, 33))
	require.ErrorContains(t, err, "33 checks are not between 1 and 32")
	_, err = f.Batch(t.Context(), make([]decide.Check, 1001))
	require.ErrorContains(t, err, "1001 checks")
	dry := search(1)
	dry.DryRun = true
	_, err = f.CheckAll(t.Context(), []decide.Check{search(1), dry})
	require.ErrorContains(t, err, "checks[1].dry_run")
}

func TestTheIdentifierComesFromMetadata(t *testing.T) {
	f := start(t, limits)
	r := f.check(t, decide.Check{Scope: "org", Resource: "x", Metadata: map[string]string{"org": "7", "user": "alice"}})
	assert.Equal(t, "7", r.Identifier)
	assert.Equal(t, int64(4), f.left(t, decide.Check{Scope: "org", Identifier: "7", Resource: "x"}))
}

func org(tokens int64) decide.Check {
	return decide.Check{Scope: "org", Identifier: "7", Resource: "search", Tokens: tokens}
}

func TestCheckAllIsAllOrNothing(t *testing.T) {
	f := start(t, limits)
	a, err := f.CheckAll(t.Context(), []decide.Check{search(2), org(4)})
	require.NoError(t, err)
	assert.True(t, a.Allowed)
	assert.Equal(t, -1, a.Blocking)
	assert.Equal(t, 1, a.Tightest)
	assert.NotEmpty(t, a.Permit)

	a, err = f.CheckAll(t.Context(), []decide.Check{search(2), org(4)})
	require.NoError(t, err)
	assert.False(t, a.Allowed)
	assert.Equal(t, 1, a.Blocking)
	assert.Equal(t, time.Second, a.RetryAfter)
	assert.True(t, a.Results[0].Allowed)
	assert.False(t, a.Results[1].Allowed)
	assert.Empty(t, a.Permit)
	assert.Equal(t, int64(8), f.left(t, search(1)), "the other limit lost nothing")
	assert.Equal(t, []decide.Blocked{{Scope: "org", Identifier: "7", Resource: "search", Refused: 1}}, f.Blocked(5))

	// Of two that block, the one that waits longest is named; both say for how long.
	f.check(t, search(8))
	a, err = f.CheckAll(t.Context(), []decide.Check{search(5), org(4)})
	require.NoError(t, err)
	assert.Equal(t, 0, a.Blocking)
	assert.Equal(t, 5*time.Second, a.RetryAfter)
	assert.Equal(t, time.Second, a.Results[1].RetryAfter)
}

func TestCheckAllWithAOneShotQuotaThatIsUsedUp(t *testing.T) {
	f := start(t, limits)
	trial := decide.Check{Scope: "trial", Identifier: "a", Resource: "x", Tokens: 3}
	f.check(t, trial)
	f.check(t, search(10))
	a, err := f.CheckAll(t.Context(), []decide.Check{search(10), trial})
	require.NoError(t, err)
	assert.Equal(t, decide.Never, a.RetryAfter)
	assert.Equal(t, 1, a.Blocking)
}

// Checks of one limit are added up.
func TestCheckAllWithTheSameLimitTwice(t *testing.T) {
	f := start(t, limits)
	a, err := f.CheckAll(t.Context(), []decide.Check{search(3), search(4)})
	require.NoError(t, err)
	assert.True(t, a.Allowed)
	assert.Equal(t, int64(3), a.Results[0].Remaining)
	require.NoError(t, f.Settle(t.Context(), a.Permit, []int64{1, 1}))
	assert.Equal(t, int64(8), f.left(t, search(1)))
	a, err = f.CheckAll(t.Context(), []decide.Check{search(5), search(4)})
	require.NoError(t, err)
	assert.False(t, a.Allowed)
	assert.Equal(t, 0, a.Blocking)
}

func TestBatch(t *testing.T) {
	f := start(t, limits)
	cs := make([]decide.Check, 100)
	for i := range cs {
		cs[i] = decide.Check{Identifier: strconv.Itoa(i % 2), Resource: "search"}
	}
	cs[7].Resource = ""
	all, err := f.Batch(t.Context(), cs)
	require.NoError(t, err)
	require.Len(t, all, 100)
	allowed := map[string]int{}
	for i, o := range all {
		if i == 7 {
			require.ErrorContains(t, o.Err, "resource")
			continue
		}
		require.NoError(t, o.Err)
		assert.Equal(t, strconv.Itoa(i%2), o.Identifier)
		if o.Allowed {
			allowed[o.Identifier]++
		}
	}
	assert.Equal(t, map[string]int{"0": 10, "1": 10}, allowed)
}

func TestForget(t *testing.T) {
	f := start(t, limits)
	f.check(t, search(10))
	require.NoError(t, f.Forget(t.Context(), "user", "alice", "search"))
	assert.Equal(t, int64(10), f.left(t, search(1)))
	require.ErrorContains(t, f.Forget(t.Context(), "user", "", "search"), "identifier")
}

// What was used stays used when limits change, whatever they change to. A bucket keeps
// the tokens that are left.
func TestLimitsChangeInPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		next string
		left int64
	}{
		"less":        {"capacity: 8, refill_rate: 1", 3},
		"more":        {"capacity: 20, refill_rate: 1", 3},
		"one shot":    {"capacity: 10, refill_rate: 0", 3},
		"windows":     {"limits: 10/min", 3},
		"other rate":  {"capacity: 10, refill_rate: 1000", 3},
		"a lot less":  {"capacity: 2, refill_rate: 1", 2},
		"two windows": {"limits: \"10/min, 9/h\"", 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, limits)
			f.check(t, search(7))
			f.reload(t, "rate_limits: [{scope: user, resource: search, "+tc.next+"}]")
			assert.Equal(t, tc.left, f.left(t, search(1)))
			if tc.left > 0 {
				assert.True(t, f.check(t, search(tc.left)).Allowed)
			}
			assert.False(t, f.check(t, search(1)).Allowed)
			f.reload(t, limits) // and back
			assert.LessOrEqual(t, f.left(t, search(1)), int64(3))
		})
	}
}

// Flipping between configurations admits no more than the largest of them.
func TestReloadsGiveNoBurst(t *testing.T) {
	for _, texts := range [][]string{
		{"capacity: 5, refill_rate: 1", "capacity: 10, refill_rate: 1", "capacity: 10, refill_rate: 100"},
		{"capacity: 10, refill_rate: 1", "capacity: 10, refill_rate: 0"},
		{"capacity: 5, refill_rate: 0", "capacity: 10, refill_rate: 0"},
		{"limits: 10/min", "limits: 5/min", "limits: 10/h", "limits: \"10/h, 5/min\""},
	} {
		f := start(t, "{}")
		admitted := 0
		var sets []*rules.Set
		for _, text := range texts {
			c, err := rules.Parse([]byte("rate_limits: [{scope: user, resource: search, " + text + "}]"))
			require.NoError(t, err)
			sets = append(sets, c.Rules)
		}
		for i := range 1000 {
			f.SetRules(sets[i%len(sets)])
			if f.check(t, search(1)).Allowed {
				admitted++
			}
		}
		assert.LessOrEqual(t, admitted, 10, texts)
		assert.GreaterOrEqual(t, admitted, 5, texts)
	}
}

// The answers are those of plain token buckets, in whatever order checks, settlements,
// and the time come.
func TestAnswersAreThoseOfBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := clockwork.NewFakeClockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		c, err := rules.Parse([]byte("rate_limits: [{scope: a, capacity: 7, refill_rate: 2}, {scope: b, capacity: 11, refill_rate: 1}]\ncosts: {y: 3}"))
		require.NoError(rt, err)
		d, err := decide.New(decide.Options{Store: quota.NewMemoryStore(clock), Config: c, Clock: clock})
		require.NoError(rt, err)
		defer d.Close()
		type bucket struct{ capacity, rate, level, at int64 }
		buckets := map[string]*bucket{}
		of := func(x decide.Check) *bucket {
			key := x.Scope + "/" + x.Identifier + "/" + x.Resource
			b := buckets[key]
			if b == nil {
				b = &bucket{7, 2, 7, 0}
				if x.Scope == "b" {
					b = &bucket{11, 1, 11, 0}
				}
				buckets[key] = b
			}
			now := int64(clock.Since(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) / time.Second)
			b.level, b.at = min(b.capacity, b.level+(now-b.at)*b.rate), now
			return b
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			clock.Advance(time.Duration(rapid.IntRange(0, 3).Draw(rt, "pause")) * time.Second)
			n := rapid.IntRange(1, 3).Draw(rt, "checks")
			cs, want := make([]decide.Check, n), map[*bucket]int64{}
			for i := range cs {
				cs[i] = decide.Check{
					Scope: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "scope"), Identifier: rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "id"),
					Resource: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "resource"), Tokens: rapid.Int64Range(1, 3).Draw(rt, "tokens"),
				}
				cost := cs[i].Tokens
				if cs[i].Resource == "y" {
					cost *= 3
				}
				want[of(cs[i])] += cost
			}
			fits, never := true, false
			for b, cost := range want {
				never = never || cost > b.capacity
				fits = fits && cost <= b.level
			}
			a, err := d.CheckAll(t.Context(), cs)
			if never {
				require.Error(rt, err)
				continue
			}
			require.NoError(rt, err)
			require.Equal(rt, fits, a.Allowed)
			if fits {
				for b, cost := range want {
					b.level -= cost
				}
			}
			for i := range cs {
				b := of(cs[i])
				require.Equal(rt, max(0, b.level), a.Results[i].Remaining)
				require.Equal(rt, b.capacity, a.Results[i].Capacity)
				if !a.Allowed {
					require.Equal(rt, want[b] <= b.level, a.Results[i].Allowed)
				}
			}
			if !fits {
				longest := time.Duration(0)
				for b, cost := range want {
					longest = max(longest, time.Duration(cost-b.level)*time.Second/time.Duration(b.rate))
				}
				require.Equal(rt, longest, a.RetryAfter)
			}
		}
	})
}
