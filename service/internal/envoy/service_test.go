package envoy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/envoy"
	"github.com/headrace/headrace/throttle"
)

const userAndAll = `
domain: d
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 3, name: per user}}
  - {key: all, rate_limit: {unit: hour, requests_per_unit: 5}}
`

func TestStatuses(t *testing.T) {
	f := serve(t, userAndAll)
	a := f.ask(request("d", "user=ann", "all=x", "else=x"))
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, []rls.RateLimitResponse_Code{ok, ok, ok}, codes(a))
	assert.Equal(t, []uint32{2, 4, 0}, remaining(a))
	user := a.GetStatuses()[0]
	assert.Equal(t, "per user", user.GetCurrentLimit().GetName())
	assert.Equal(t, uint32(3), user.GetCurrentLimit().GetRequestsPerUnit())
	assert.Equal(t, rls.RateLimitResponse_RateLimit_MINUTE, user.GetCurrentLimit().GetUnit())
	assert.Nil(t, user.GetCurrentLimit().GetUnitMultiplier())
	assert.Equal(t, time.Minute, user.GetDurationUntilReset().AsDuration())
	assert.Nil(t, a.GetStatuses()[2].GetCurrentLimit())
	assert.Nil(t, a.GetStatuses()[2].GetDurationUntilReset())

	f.clock.Advance(20 * time.Second)
	assert.Equal(t, 2, f.admits(2, request("d", "user=ann", "all=x")))
	f.clock.Advance(10 * time.Second)
	a = f.ask(request("d", "user=ann", "all=x"))
	assert.Equal(t, over, a.GetOverallCode())
	assert.Equal(t, []rls.RateLimitResponse_Code{over, ok}, codes(a))
	assert.Equal(t, []uint32{0, 2}, remaining(a))
	assert.Equal(t, 30*time.Second, a.GetStatuses()[0].GetDurationUntilReset().AsDuration(), "until the first of the three is a minute old")
	assert.Empty(t, a.GetResponseHeadersToAdd())
}

// A refused request counts against none of its limits.
func TestAllOrNothing(t *testing.T) {
	f := serve(t, userAndAll)
	assert.Equal(t, 3, f.admits(10, request("d", "all=x", "user=ann")))
	assert.Equal(t, 2, f.admits(10, request("d", "all=x", "user=bob")), "ann's refused requests left two")
	a := f.ask(request("d", "all=x", "user=bob"))
	assert.Equal(t, []rls.RateLimitResponse_Code{over, ok}, codes(a))
	assert.Equal(t, []uint32{0, 1}, remaining(a))
}

func TestUnknownDomain(t *testing.T) {
	f := serve(t, userAndAll)
	a := f.ask(request("other", "user=ann"))
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Nil(t, a.GetStatuses()[0].GetCurrentLimit())
	limited := request("other", "user=ann")
	limited.Descriptors[0].Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: typev3.RateLimitUnit_SECOND}
	assert.Equal(t, 5, f.admits(5, limited), "a limit in the request needs a known domain, as in envoyproxy/ratelimit")
	assert.EqualValues(t, 6, f.Stats().UnknownDomain)
}

func TestHitsAddend(t *testing.T) {
	f := serve(t, `{domain: d, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: 10}}]}`)
	r := request("d", "user=ann")
	r.HitsAddend = 4
	assert.Equal(t, 2, f.admits(5, r))
	a := f.ask(r)
	assert.Equal(t, []uint32{2}, remaining(a), "what is left is too little, but there")
	assert.Equal(t, time.Minute, a.GetStatuses()[0].GetDurationUntilReset().AsDuration())
	r.HitsAddend = 0
	assert.Equal(t, 2, f.admits(5, r), "0 means 1")

	r = request("d", "user=bob")
	r.HitsAddend = 11
	a = f.ask(r)
	assert.Equal(t, over, a.GetOverallCode(), "more than the limit never fits")
	assert.Equal(t, []uint32{10}, remaining(a))
	assert.Equal(t, time.Minute, a.GetStatuses()[0].GetDurationUntilReset().AsDuration(), "not at once")
	r.HitsAddend = math.MaxUint32
	assert.Equal(t, over, f.ask(r).GetOverallCode())
	r.HitsAddend = 10
	assert.Equal(t, ok, f.ask(r).GetOverallCode())
}

func TestADescriptorTwiceInARequest(t *testing.T) {
	f := serve(t, `{domain: d, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: 5}}]}`)
	a := f.ask(request("d", "user=ann", "user=ann"))
	assert.Equal(t, []uint32{3, 3}, remaining(a))
	assert.Equal(t, 1, f.admits(5, request("d", "user=ann", "user=ann")))
	assert.Equal(t, 1, f.admits(5, request("d", "user=ann")))
}

// Tokens of a language model are known when it has answered: Envoy checks with 0 hits and
// reports when the stream is done.
func TestHitsThatAreReportedAfterwards(t *testing.T) {
	f := serve(t, `
domain: ai
descriptors:
  - {key: tokens, rate_limit: {unit: minute, requests_per_unit: 100}}
  - {key: calls, rate_limit: {unit: minute, requests_per_unit: 5}}
`)
	check := &rls.RateLimitRequest{Domain: "ai", Descriptors: []*ratelimit.RateLimitDescriptor{entries("calls=ann"), hits(0, "tokens=ann")}}
	report := &rls.RateLimitRequest{Domain: "ai", Descriptors: []*ratelimit.RateLimitDescriptor{hits(70, "tokens=ann")}}
	a := f.ask(check)
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, []uint32{4, 100}, remaining(a))
	assert.Zero(t, a.GetStatuses()[1].GetDurationUntilReset().AsDuration())
	a = f.ask(report)
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, []uint32{30}, remaining(a))

	f.clock.Advance(10 * time.Second)
	assert.Equal(t, ok, f.ask(check).GetOverallCode(), "there are 30 left")
	a = f.ask(report)
	assert.Equal(t, over, a.GetOverallCode(), "it does not fit")
	assert.Equal(t, []uint32{0}, remaining(a))
	a = f.ask(check)
	assert.Equal(t, over, a.GetOverallCode(), "but it was used: 140 of 100")
	assert.Equal(t, []rls.RateLimitResponse_Code{ok, over}, codes(a))
	assert.Equal(t, []uint32{3, 0}, remaining(a), "the refused call does not count")
	assert.Equal(t, 50*time.Second, a.GetStatuses()[1].GetDurationUntilReset().AsDuration())
	f.clock.Advance(50*time.Second - 1)
	assert.Equal(t, over, f.ask(check).GetOverallCode())
	f.clock.Advance(1)
	a = f.ask(check)
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, []uint32{3, 30}, remaining(a), "of two calls one is a minute old")

	enormous := &rls.RateLimitRequest{Domain: "ai", Descriptors: []*ratelimit.RateLimitDescriptor{hits(envoy.MaxHits, "tokens=ann")}}
	a = f.ask(enormous)
	assert.Equal(t, over, a.GetOverallCode())
	f.clock.Advance(time.Minute - 1)
	assert.Equal(t, over, f.ask(check).GetOverallCode())
	f.clock.Advance(1)
	assert.Equal(t, ok, f.ask(check).GetOverallCode(), "it is forgotten after a minute")
}

func TestReportedHitsCountInShadowModeToo(t *testing.T) {
	f := serve(t, `{domain: d, descriptors: [{key: k, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 10}}]}`)
	report := &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(8, "k=v")}}
	for _, left := range []uint32{2, 0} {
		a := f.ask(report)
		assert.Equal(t, ok, a.GetOverallCode())
		assert.Equal(t, []uint32{left}, remaining(a))
	}
	state, err := f.store.Look(t.Context(), "envoy/d/k=v")
	require.NoError(t, err)
	assert.EqualValues(t, 16, state.Uses[0].Spent)
}

func TestRefunds(t *testing.T) {
	f := serve(t, userAndAll)
	refund := func(n uint64, text string) *rls.RateLimitRequest {
		d := hits(n, text)
		d.IsNegativeHits = true
		return &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{d}}
	}
	a := f.ask(refund(3, "user=ann"))
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, []uint32{3}, remaining(a), "nothing was taken: it does not rise above the limit")

	both := request("d", "user=ann", "all=x")
	for range 3 {
		require.Equal(t, ok, f.ask(both).GetOverallCode())
		f.clock.Advance(time.Second)
	}
	require.Equal(t, over, f.ask(both).GetOverallCode())
	a = f.ask(refund(2, "user=ann"))
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, []uint32{2}, remaining(a))
	assert.Equal(t, []uint32{2}, remaining(f.ask(&rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(0, "all=x")}})),
		"of the other key nothing was given back")
	assert.Equal(t, 2, f.admits(5, request("d", "user=ann")))

	whole := request("d", "all=x")
	whole.Descriptors[0].IsNegativeHits = true
	assert.Equal(t, []uint32{3}, remaining(f.ask(whole)), "the hits of the request, which are 1")
	a = f.ask(refund(100, "all=x"))
	assert.Equal(t, []uint32{5}, remaining(a))

	// In parts.
	big := request("d", "all=y")
	big.HitsAddend = 4
	require.Equal(t, ok, f.ask(big).GetOverallCode())
	for want := uint32(2); want <= 5; want++ {
		assert.Equal(t, []uint32{want}, remaining(f.ask(refund(1, "all=y"))))
	}
	assert.Equal(t, []uint32{5}, remaining(f.ask(refund(1, "all=y"))))
	assert.Zero(t, f.Stats().Lost)
}

// A refund never makes room in a window that has forgotten what was taken.
func TestRefundsOfThePast(t *testing.T) {
	f := serve(t, userAndAll)
	for range 4 {
		require.Equal(t, 3, f.admits(4, request("d", "user=ann")))
		f.clock.Advance(time.Minute)
	}
	require.Equal(t, 2, f.admits(2, request("d", "user=ann")))
	d := hits(10, "user=ann")
	d.IsNegativeHits = true
	a := f.ask(&rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{d}})
	assert.Equal(t, ok, a.GetOverallCode())
	assert.Equal(t, 3, f.admits(5, request("d", "user=ann")))
}

func TestLimitsInTheRequest(t *testing.T) {
	f := serve(t, userAndAll)
	with := func(most uint32, u typev3.RateLimitUnit, times *wrapperspb.UInt32Value) *rls.RateLimitRequest {
		r := request("d", "user=ann")
		r.Descriptors[0].Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: most, Unit: u, UnitMultiplier: times}
		return r
	}
	assert.Equal(t, 7, f.admits(10, with(7, typev3.RateLimitUnit_HOUR, nil)))
	assert.Equal(t, 3, f.admits(10, request("d", "user=ann")), "the configured limit counts apart")
	assert.Equal(t, 2, f.admits(10, with(9, typev3.RateLimitUnit_HOUR, nil)), "a raised limit keeps its count")
	assert.Equal(t, 4, f.admits(10, with(4, typev3.RateLimitUnit_MINUTE, nil)), "another unit counts apart")
	assert.Equal(t, 0, f.admits(3, with(0, typev3.RateLimitUnit_DAY, nil)))
	a := f.ask(with(4, typev3.RateLimitUnit_SECOND, wrapperspb.UInt32(30)))
	assert.Equal(t, uint32(30), a.GetStatuses()[0].GetCurrentLimit().GetUnitMultiplier().GetValue())
	assert.Equal(t, 30*time.Second, a.GetStatuses()[0].GetDurationUntilReset().AsDuration())

	unknown := with(4, typev3.RateLimitUnit_UNKNOWN, nil)
	_, err := f.ShouldRateLimit(t.Context(), unknown)
	assert.Equal(t, grpccodes.InvalidArgument, status.Code(err))
	_, err = f.ShouldRateLimit(t.Context(), with(4, typev3.RateLimitUnit_YEAR, wrapperspb.UInt32(math.MaxUint32)))
	assert.ErrorContains(t, err, "longer than a century")
}

func TestShadows(t *testing.T) {
	f := serve(t, `
domain: d
descriptors:
  - {key: s1, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: s2, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 4}}
  - {key: none, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}
  - {key: real, rate_limit: {unit: minute, requests_per_unit: 6}}
`)
	r := request("d", "s1=x", "s2=x", "none=x", "real=x")
	for i, want := range [][]uint32{{1, 3, 0, 5}, {0, 2, 0, 4}, {0, 1, 0, 3}, {0, 0, 0, 2}, {0, 0, 0, 1}, {0, 0, 0, 0}} {
		a := f.ask(r)
		assert.Equal(t, ok, a.GetOverallCode(), "request %d", i)
		assert.Equal(t, []rls.RateLimitResponse_Code{ok, ok, ok, ok}, codes(a))
		assert.Equal(t, want, remaining(a), "request %d", i)
	}
	assert.Equal(t, []rls.RateLimitResponse_Code{ok, ok, ok, over}, codes(f.ask(r)))
}

func TestGlobalShadowMode(t *testing.T) {
	f := serve(t, userAndAll, func(o *envoy.Options) { o.ShadowMode = true })
	assert.Equal(t, 10, f.admits(10, request("d", "user=ann", "all=x")))
	a := f.ask(request("d", "user=ann", "all=x"))
	assert.Equal(t, []rls.RateLimitResponse_Code{over, ok}, codes(a), "the statuses say what it would be")
	stats := f.Stats()
	assert.EqualValues(t, 8, stats.Shadowed)
	assert.Zero(t, stats.OverLimit)
}

func TestHeaders(t *testing.T) {
	f := serve(t, userAndAll, func(o *envoy.Options) { o.Headers = envoy.DefaultHeaders() })
	headers := func(a *rls.RateLimitResponse) (all []string) {
		for _, h := range a.GetResponseHeadersToAdd() {
			all = append(all, h.GetKey()+": "+h.GetValue())
		}
		return all
	}
	a := f.ask(request("d", "all=x", "user=ann", "else=x"))
	assert.Equal(t, []string{"RateLimit-Limit: 3", "RateLimit-Remaining: 2", "RateLimit-Reset: 60"}, headers(a), "the limit with least left")
	f.clock.Advance(500 * time.Millisecond)
	f.admits(2, request("d", "all=x", "user=ann"))
	f.clock.Advance(time.Second)
	a = f.ask(request("d", "user=ann", "all=x"))
	assert.Equal(t, []string{"RateLimit-Limit: 3", "RateLimit-Remaining: 0", "RateLimit-Reset: 59"}, headers(a), "58.5 s, rounded up")
	f.admits(3, request("d", "all=x"))
	a = f.ask(request("d", "user=ann", "all=x"))
	assert.Equal(t, []string{"RateLimit-Limit: 5", "RateLimit-Remaining: 0", "RateLimit-Reset: 3599"}, headers(a), "of two that are over, the longer one")
	assert.Empty(t, headers(f.ask(request("d", "else=x"))))

	f = serve(t, userAndAll, func(o *envoy.Options) { o.Headers = envoy.Headers{Remaining: "x-left"} })
	a = f.ask(request("d", "all=x"))
	assert.Equal(t, []string{"x-left: 4"}, headers(a))
	assert.IsType(t, &core.HeaderValue{}, a.GetResponseHeadersToAdd()[0])
}

// Changes of the configuration keep the counts.
func TestReload(t *testing.T) {
	of := func(most int, unit string) string {
		return fmt.Sprintf(`{domain: d, descriptors: [{key: user, rate_limit: {unit: %s, requests_per_unit: %d}}]}`, unit, most)
	}
	f := serve(t, of(5, "minute"))
	r := request("d", "user=ann")
	require.Equal(t, 5, f.admits(9, r))
	require.NoError(t, f.Use(envoy.Settings{Config: parse(t, of(7, "minute"))}))
	assert.Equal(t, 2, f.admits(9, r), "raised by two")
	require.NoError(t, f.Use(envoy.Settings{Config: parse(t, of(3, "minute"))}))
	a := f.ask(r)
	assert.Equal(t, over, a.GetOverallCode())
	assert.Equal(t, uint32(3), a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())
	require.NoError(t, f.Use(envoy.Settings{Config: parse(t, of(10, "hour"))}))
	assert.Equal(t, 3, f.admits(9, r), "seven were counted in this hour")
	require.ErrorContains(t, f.Use(envoy.Settings{}), "envoy: Config: ")
	assert.Equal(t, 0, f.admits(9, r))
}

// While the limit flips between two values, every answer is right under one of them.
func TestReloadUnderLoad(t *testing.T) {
	of := func(most int) string {
		return fmt.Sprintf(`{domain: d, descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: %d}}]}`, most)
	}
	few, many := parse(t, of(200)), parse(t, of(400))
	f := serve(t, of(200))
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				a, err := f.ShouldRateLimit(t.Context(), request("d", "user=ann"))
				if !assert.NoError(t, err) {
					return
				}
				assert.Contains(t, []uint32{200, 400}, a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())
				if a.GetOverallCode() == ok {
					admitted.Add(1)
				}
			}
		})
	}
	for i := range 1000 {
		assert.NoError(t, f.Use(envoy.Settings{Config: []*envoy.Config{few, many}[i%2]}))
	}
	assert.NoError(t, f.Use(envoy.Settings{Config: many}))
	wg.Wait()
	assert.LessOrEqual(t, admitted.Load(), int64(400))
	f.admits(400, request("d", "user=ann"))
	assert.Equal(t, 0, f.admits(3, request("d", "user=ann")))
}

func TestBoundedInput(t *testing.T) {
	f := serve(t, userAndAll)
	many := make([]string, envoy.MaxDescriptors+1)
	for i := range many {
		many[i] = "user=ann"
	}
	deep := strings.TrimSuffix(strings.Repeat("user=ann, ", envoy.MaxEntries+1), ", ")
	for problem, r := range map[string]*rls.RateLimitRequest{
		"envoy: domain: it is empty":                                                  request("", "user=ann"),
		"envoy: descriptors: there are none":                                          request("d"),
		"envoy: descriptors: there are 101: send at most 100":                         request("d", many...),
		"envoy: descriptors[1].entries: there are none":                               {Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{entries("user=ann"), {}}},
		"envoy: descriptors[0].entries: there are 33: send at most 32":                request("d", deep),
		"envoy: descriptors[0].entries[1].key: it is empty":                           request("d", "user=ann, =x"),
		"envoy: descriptors: the keys and values have":                                request("d", "user="+strings.Repeat("x", envoy.MaxBytes)),
		"envoy: descriptors[0].hits_addend: 1000000001 is above 1000000000":           {Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(envoy.MaxHits+1, "user=ann")}},
		"envoy: descriptors[0].hits_addend: 18446744073709551615 is above 1000000000": {Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(math.MaxUint64, "user=ann")}},
	} {
		_, err := f.ShouldRateLimit(t.Context(), r)
		assert.Equal(t, grpccodes.InvalidArgument, status.Code(err), problem)
		assert.ErrorContains(t, err, problem)
	}
	assert.EqualValues(t, 9, f.Stats().Invalid)
	_, err := f.ShouldRateLimit(t.Context(), request("d", many[1:]...))
	assert.NoError(t, err)
	const day = 100_000 // requests a second
	assert.Less(t, float64(envoy.MaxHits)*day*86_400, float64(math.MaxInt64), "what is reported in a day has a sum")
}

// Problems fit into the headers of a response.
func TestProblemsAreShort(t *testing.T) {
	f := serve(t, userAndAll)
	many := make([]*ratelimit.RateLimitDescriptor, envoy.MaxDescriptors)
	for i := range many {
		many[i] = &ratelimit.RateLimitDescriptor{Entries: make([]*ratelimit.RateLimitDescriptor_Entry, envoy.MaxEntries)}
	}
	_, err := f.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: "d", Descriptors: many})
	assert.Equal(t, grpccodes.InvalidArgument, status.Code(err))
	assert.Less(t, len(err.Error()), 4096)
}

// counting counts the steps of a store.
type counting struct {
	quota.MemoryStore

	takes, ends, cancels int
}

func (s *counting) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	s.takes++
	return s.MemoryStore.Take(ctx, r)
}

func (s *counting) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	s.ends++
	return s.MemoryStore.End(ctx, t, actual)
}

func (s *counting) Cancel(ctx context.Context, t quota.Ticket) error {
	s.cancels++
	return s.MemoryStore.Cancel(ctx, t)
}

func TestOneStepOfTheStore(t *testing.T) {
	s := &counting{}
	f := serve(t, userAndAll, func(o *envoy.Options) { s.MemoryStore, _ = o.Store.(quota.MemoryStore); o.Store = s })
	r := &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
		entries("user=ann"), hits(0, "all=x"), entries("user=bob"), hits(1, "user=eve"),
	}}
	require.Equal(t, 3, f.admits(3, r))
	assert.Equal(t, counting{s.MemoryStore, 3, 0, 0}, *s, "admitted")
	r.Descriptors = r.Descriptors[:3]
	require.Equal(t, 0, f.admits(1, r))
	assert.Equal(t, counting{s.MemoryStore, 4, 0, 0}, *s, "refused")
	f.ask(request("d", "else=x"))
	assert.Equal(t, counting{s.MemoryStore, 4, 0, 0}, *s, "no limit applies")
}

func TestRefundsAreBounded(t *testing.T) {
	s := &counting{}
	f := serve(t, `{domain: d, descriptors: [{key: user, rate_limit: {unit: minute, requests_per_unit: 100}}]}`,
		func(o *envoy.Options) { s.MemoryStore, _ = o.Store.(quota.MemoryStore); o.Store = s })
	for range 100 {
		f.clock.Advance(time.Millisecond)
		require.Equal(t, ok, f.ask(request("d", "user=ann")).GetOverallCode())
	}
	d := hits(100, "user=ann")
	d.IsNegativeHits = true
	a := f.ask(&rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{d}})
	assert.Equal(t, 32, s.cancels)
	assert.Equal(t, []uint32{32}, remaining(a))
	assert.Equal(t, 32, f.admits(50, request("d", "user=ann")))
}

func TestAnUnlimitedDescriptorIsNotReplaced(t *testing.T) {
	f := serve(t, `
domain: d
descriptors:
  - {key: a, rate_limit: {unlimited: true, name: x}}
  - {key: b, rate_limit: {unlimited: true, replaces: [{name: x}, {name: y}]}}
  - {key: c, rate_limit: {unit: day, requests_per_unit: 1, name: y}}
`)
	a := f.ask(request("d", "a=1", "b=1", "c=1"))
	assert.Equal(t, []uint32{math.MaxUint32, math.MaxUint32, 0}, remaining(a))
	assert.Nil(t, a.GetStatuses()[2].GetCurrentLimit(), "it is replaced, also by an unlimited one")
}

// What was used counts, also if another limit refuses the report.
func TestReportsCountBesideALimitThatIsOver(t *testing.T) {
	f := serve(t, userAndAll)
	r := &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{entries("user=ann"), hits(1, "all=x")}}
	for range 4 {
		f.ask(r)
	}
	a := f.ask(r)
	assert.Equal(t, []rls.RateLimitResponse_Code{over, ok}, codes(a))
	assert.Equal(t, []uint32{0, 0}, remaining(a))

	refund := hits(1, "all=x")
	refund.IsNegativeHits = true
	f.ask(&rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(9, "all=x")}})
	a = f.ask(&rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{refund}})
	assert.Equal(t, ok, a.GetOverallCode(), "a refund is never refused, also if the limit stays below zero")
}

func TestTheTighterOfTwoLimitsInARequest(t *testing.T) {
	f := serve(t, userAndAll)
	r := request("d", "user=ann", "user=ann")
	for i, most := range []uint32{9, 4} {
		r.Descriptors[i].Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: most, Unit: typev3.RateLimitUnit_DAY}
	}
	assert.Equal(t, 2, f.admits(9, r))
}

// script refuses each take for the first of its demands.
type script struct {
	nowhere

	asked [][]string
}

func (s *script) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	var keys []string
	for _, d := range r.Demands {
		keys = append(keys, d.Key)
	}
	s.asked = append(s.asked, keys)
	g, err := s.nowhere.Take(ctx, r)
	if r.Demands[0].Key != "envoy/d/real=x" {
		g.Wait = time.Second
		g.Uses[0][0].Left = 0
	}
	return g, err
}

// Shadows that become over one after the other do not ask the store for ever.
func TestManyShadows(t *testing.T) {
	var yaml strings.Builder
	yaml.WriteString("domain: d\ndescriptors:\n")
	var descriptors []string
	for i := range 9 {
		fmt.Fprintf(&yaml, "- {key: s%d, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}\n", i)
		descriptors = append(descriptors, fmt.Sprintf("s%d=x", i))
	}
	yaml.WriteString("- {key: real, rate_limit: {unit: day, requests_per_unit: 1}}\n")
	s := &script{}
	f := serve(t, yaml.String(), func(o *envoy.Options) { o.Store = s })
	assert.Equal(t, ok, f.ask(request("d", append(descriptors, "real=x")...)).GetOverallCode())
	require.Len(t, s.asked, 3)
	assert.Equal(t, []string{"envoy/d/real=x"}, s.asked[2])
}

// leaving is a store with a caller that leaves while it answers.
type leaving struct {
	quota.MemoryStore

	leave context.CancelFunc
}

func (s leaving) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	g, err := s.MemoryStore.Take(ctx, r)
	s.leave()
	return g, err
}

func TestWhatIsDecidedIsWritten(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	f := serve(t, userAndAll, func(o *envoy.Options) {
		s, _ := o.Store.(quota.MemoryStore)
		o.Store = leaving{s, leave}
	})
	_, err := f.ShouldRateLimit(ctx, &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(9, "user=ann")}})
	require.NoError(t, err)
	assert.Zero(t, f.Stats().Lost)
	state, err := f.store.Look(t.Context(), "envoy/d/user=ann")
	require.NoError(t, err)
	assert.EqualValues(t, 9, state.Uses[0].Spent)
}

// Values cannot be written so that two descriptors share a count.
func TestKeysAreDistinct(t *testing.T) {
	f := serve(t, `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 1}
    descriptors: [{key: b, rate_limit: {unit: minute, requests_per_unit: 1}}]
  - {key: a=x/b, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: a_b, value: c, rate_limit: {unit: minute, requests_per_unit: 1}}
`)
	for _, d := range []string{"a=x, b=y", "a=x/b=y", "a=x%2Fb=y", "a=x?per=60", "a=x", "a_b=c", "a=b_c"} {
		assert.Equal(t, 1, f.admits(3, request("d", d)), d)
	}
	r := &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
		{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "a=x/b", Value: "y"}}},
	}}
	assert.Equal(t, 1, f.admits(3, r))

	own := request("d", "a=z")
	own.Descriptors[0].Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: typev3.RateLimitUnit_MINUTE}
	for _, r := range []*rls.RateLimitRequest{own, request("d", "a=z?per=60"), request("d", "a=z60"), request("d", "a=z")} {
		assert.Equal(t, 1, f.admits(3, r), "%s", r)
	}
}

// Values that clients choose do not make keys of any length.
func TestKeysAreShort(t *testing.T) {
	f := serve(t, "domain: d\ndescriptors: [{key: path, rate_limit: {unit: minute, requests_per_unit: 1}}]")
	long := strings.Repeat("é/", 10_000)
	for _, d := range []string{"path=" + long + "a", "path=" + long + "b", "path=x" + long} {
		assert.Equal(t, 1, f.admits(2, request("d", d)))
	}
	var keys []string
	for key, err := range f.store.Keys(t.Context(), "") {
		require.NoError(t, err)
		assert.LessOrEqual(t, len(key), 256)
		assert.True(t, utf8.ValidString(key))
		keys = append(keys, key)
	}
	require.Len(t, keys, 3)
	_, value, _ := strings.Cut(keys[0], "path=")
	assert.Equal(t, 1, f.admits(2, request("d", "path="+value)), "no value is that of a key that was shortened")
}

var errDown = errors.New("dial tcp 10.1.2.3:6379: connection refused")

// faulty fails some of its methods, and can hang in Take.
type faulty struct {
	quota.MemoryStore

	take, end, cancel error
	hangs             bool
}

func (s *faulty) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	if s.hangs {
		<-ctx.Done()
		return quota.Grant{}, context.Cause(ctx)
	}
	if s.take != nil {
		return quota.Grant{}, s.take
	}
	return s.MemoryStore.Take(ctx, r)
}

func (s *faulty) End(ctx context.Context, t quota.Ticket, actual []throttle.Cost) error {
	return errors.Join(s.end, s.MemoryStore.End(ctx, t, actual))
}

func (s *faulty) Cancel(ctx context.Context, t quota.Ticket) error {
	return errors.Join(s.cancel, s.MemoryStore.Cancel(ctx, t))
}

func TestOutage(t *testing.T) {
	s := &faulty{take: errDown}
	f := serve(t, userAndAll, func(o *envoy.Options) { s.MemoryStore, _ = o.Store.(quota.MemoryStore); o.Store = s })
	_, err := f.ShouldRateLimit(t.Context(), request("d", "user=ann"))
	assert.Equal(t, grpccodes.Unavailable, status.Code(err))
	assert.NotContains(t, err.Error(), "10.1.2.3", "the store's errors are not for clients")
	assert.Equal(t, ok, f.ask(request("d", "else=ann")).GetOverallCode(), "no limit applies: the store is not asked")
	assert.EqualValues(t, 1, f.Stats().Failed)

	s.take, s.end, s.cancel = nil, errDown, errDown
	a, err := f.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(9, "user=ann")}})
	require.NoError(t, err)
	assert.Equal(t, over, a.GetOverallCode())
	assert.EqualValues(t, 1, f.Stats().Lost)
	assert.EqualValues(t, 1, f.Stats().Failed)
}

func TestDegraded(t *testing.T) {
	var seen []envoy.Observation
	s := &faulty{take: errDown}
	f := serve(t, userAndAll, func(o *envoy.Options) {
		s.MemoryStore, _ = o.Store.(quota.MemoryStore)
		with, err := quota.WithFallback(s, quota.Fallback{Unlimited: true})
		require.NoError(t, err)
		o.Store = with
		o.Observe = func(x envoy.Observation) { seen = append(seen, x) }
	})
	assert.Equal(t, 9, f.admits(9, request("d", "user=ann")))
	assert.EqualValues(t, 9, f.Stats().Degraded)
	assert.Equal(t, envoy.Observation{Rule: "d.user", Key: "envoy/d/user=ann", Hits: 1, Left: 3, Limit: 3, Degraded: true}, seen[0])
	report := &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{hits(2, "user=ann")}}
	assert.Equal(t, ok, f.ask(report).GetOverallCode())
	assert.Zero(t, f.Stats().Lost)
}

func TestAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := envoy.New(envoy.Options{Store: &faulty{hangs: true}, Settings: envoy.Settings{Config: parse(t, userAndAll)}, Timeout: 50 * time.Millisecond})
		require.NoError(t, err)
		begun := time.Now()
		_, err = s.ShouldRateLimit(t.Context(), request("d", "user=ann"))
		assert.Equal(t, grpccodes.Unavailable, status.Code(err))
		assert.Equal(t, 50*time.Millisecond, time.Since(begun))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.ShouldRateLimit(ctx, request("d", "user=ann"))
		assert.Equal(t, grpccodes.Canceled, status.Code(err))
	})
}

// nonsense refuses without a demand that it is about.
type nonsense struct{ quota.MemoryStore }

func (nonsense) Take(context.Context, quota.Request) (quota.Grant, error) {
	return quota.Grant{Wait: time.Second, Demand: 7, Uses: [][]throttle.WindowUse{{{Left: 9}}}}, nil
}

func TestAStoreThatReturnsNonsense(t *testing.T) {
	f := serve(t, userAndAll, func(o *envoy.Options) { o.Store = nonsense{} })
	_, err := f.ShouldRateLimit(t.Context(), request("d", "user=ann"))
	assert.Equal(t, grpccodes.Unavailable, status.Code(err))
}

// A cooldown of a key, such as an operator sets, refuses also what costs nothing.
func TestCooldown(t *testing.T) {
	f := serve(t, userAndAll)
	require.NoError(t, f.store.Cooldown(t.Context(), "envoy/d/user=ann", time.Minute))
	a := f.ask(request("d", "user=ann", "all=x"))
	assert.Equal(t, []rls.RateLimitResponse_Code{over, ok}, codes(a))
	assert.Equal(t, time.Minute, a.GetStatuses()[0].GetDurationUntilReset().AsDuration())
	f.clock.Advance(time.Minute)
	assert.Equal(t, 3, f.admits(5, request("d", "user=ann", "all=x")))
}

func TestObservations(t *testing.T) {
	var seen []envoy.Observation
	f := serve(t, `
domain: d
descriptors:
  - {key: user, descriptors: [{key: path, value: /a*, rate_limit: {unit: minute, requests_per_unit: 1}}]}
  - {key: all, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: free, rate_limit: {unlimited: true}}
`, func(o *envoy.Options) { o.Observe = func(x envoy.Observation) { seen = append(seen, x) } })
	r := request("d", "user=ann, path=/ab", "all=x", "free=x", "else=x")
	f.admits(2, r)
	const most = math.MaxUint32
	assert.Equal(t, []envoy.Observation{
		{Rule: "d.user.path=/a*", Key: "envoy/d/user=ann/path=%2Fab", Hits: 1, Left: 0, Limit: 1},
		{Rule: "d.all", Key: "envoy/d/all=x", Hits: 1, Shadow: true, Limit: 1},
		{Rule: "d.free", Hits: 1, Left: most, Limit: most},
		{Rule: "d.user.path=/a*", Key: "envoy/d/user=ann/path=%2Fab", Hits: 1, Over: true, Limit: 1},
		{Rule: "d.all", Key: "envoy/d/all=x", Hits: 1, Over: true, Shadow: true, Limit: 1},
		{Rule: "d.free", Hits: 1, Left: most, Limit: most},
	}, seen)
	assert.Equal(t, envoy.Stats{Requests: 2, OverLimit: 1}, f.Stats())
}

func TestOptions(t *testing.T) {
	_, err := envoy.New(envoy.Options{Timeout: -1, Settings: envoy.Settings{Headers: envoy.Headers{Limit: "a b"}}})
	for _, problem := range []string{"envoy: Store: ", "envoy: Config: ", "envoy: Timeout: ", "envoy: Headers.Limit: "} {
		assert.ErrorContains(t, err, problem)
	}
}
