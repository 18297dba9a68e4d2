package envoy

import (
	"math"
	"strconv"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// of returns the headers for the limit that is closest to be reached: the one that is
// over for longest, or that has least left.
func (h Headers) of(statuses []*rls.RateLimitResponse_DescriptorStatus) []*core.HeaderValue {
	if h == (Headers{}) {
		return nil
	}
	var closest *rls.RateLimitResponse_DescriptorStatus
	for _, s := range statuses {
		if s.GetCurrentLimit() != nil && (closest == nil || closer(s, closest)) {
			closest = s
		}
	}
	if closest == nil {
		return nil
	}
	var all []*core.HeaderValue
	for _, each := range []struct {
		name  string
		value int64
	}{
		{h.Limit, int64(closest.GetCurrentLimit().GetRequestsPerUnit())},
		{h.Remaining, int64(closest.GetLimitRemaining())},
		{h.Reset, seconds(closest.GetDurationUntilReset().AsDuration())},
	} {
		if each.name != "" {
			all = append(all, &core.HeaderValue{Key: each.name, Value: strconv.FormatInt(each.value, 10)})
		}
	}
	return all
}

func closer(a, b *rls.RateLimitResponse_DescriptorStatus) bool {
	over := func(s *rls.RateLimitResponse_DescriptorStatus) bool {
		return s.GetCode() == rls.RateLimitResponse_OVER_LIMIT
	}
	switch {
	case over(a) != over(b):
		return over(a)
	case over(a):
		return a.GetDurationUntilReset().AsDuration() > b.GetDurationUntilReset().AsDuration()
	}
	return a.GetLimitRemaining() < b.GetLimitRemaining()
}

func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
