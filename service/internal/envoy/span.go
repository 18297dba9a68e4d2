package envoy

import (
	"fmt"
	"math"
	"strings"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/headrace/headrace/throttle"
)

// Unit is the unit of time of a limit.
type unit = rls.RateLimitResponse_RateLimit_Unit

const day = 24 * time.Hour

// lengths of the units. A month and a year are as long as in envoyproxy/ratelimit.
func length(u unit) time.Duration {
	switch u {
	case rls.RateLimitResponse_RateLimit_SECOND:
		return time.Second
	case rls.RateLimitResponse_RateLimit_MINUTE:
		return time.Minute
	case rls.RateLimitResponse_RateLimit_HOUR:
		return time.Hour
	case rls.RateLimitResponse_RateLimit_DAY:
		return day
	case rls.RateLimitResponse_RateLimit_WEEK:
		return 7 * day
	case rls.RateLimitResponse_RateLimit_MONTH:
		return 30 * day
	case rls.RateLimitResponse_RateLimit_YEAR:
		return 365 * day
	case rls.RateLimitResponse_RateLimit_UNKNOWN:
		return 0
	default:
		return 0
	}
}

// unitOf reads the name of a unit in any case, as envoyproxy/ratelimit does.
func unitOf(name string) (unit, bool) {
	u, ok := rls.RateLimitResponse_RateLimit_Unit_value[strings.ToUpper(name)]
	return unit(u), ok && length(unit(u)) > 0
}

// span is a number of units of time.
type span struct {
	unit  unit
	times uint32 // at least 1
}

const longest = 100 * 365 * day // what throttle.Window allows

// checked says what is wrong with s, if anything is.
func (s span) problem() string {
	switch one := length(s.unit); {
	case one == 0:
		return "the unit is unknown: use second, minute, hour, day, week, month or year"
	case s.times == 0:
		return "unit_multiplier is 0: use at least 1"
	case time.Duration(s.times) > longest/one:
		return fmt.Sprintf("%d %ss are longer than a century", s.times, strings.ToLower(s.unit.String()))
	}
	return ""
}

func (s span) duration() time.Duration { return time.Duration(s.times) * length(s.unit) }

// limits returns what allows most hits in each trailing interval of s; zero Limits if
// that is none.
func (s span) limits(most uint32) throttle.Limits {
	if most == 0 {
		return throttle.Limits{}
	}
	// A cost of 0 points is none, as hits_addend has it. One of 0 requests would be 1.
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(int64(most), s.duration()).Of(throttle.Points)}}
}

// message is a limit as Envoy reads it.
func (s span) message(name string, most uint32) *rls.RateLimitResponse_RateLimit {
	m := &rls.RateLimitResponse_RateLimit{Name: name, RequestsPerUnit: most, Unit: s.unit}
	if s.times > 1 {
		m.UnitMultiplier = wrapperspb.UInt32(s.times)
	}
	return m
}

// left is what Envoy can read of an amount.
func left(n int64) uint32 {
	return uint32(min(max(n, 0), math.MaxUint32))
}
