package dialect

import (
	"math"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// usage is what an answer says that the call has used, in tokens. Of a stream
// the largest of each counts: providers send running totals.
type usage struct {
	in, out, thoughts, total int64
	cacheRead, cacheWrite    int64 // which in leaves out
	cached                   int64 // the part of in that came from a cache
}

// read takes a usage object in any of the spellings in use.
func (u *usage) read(s *scanner, depth int) {
	if s.Peek() != '{' || depth > mostDepth {
		s.Skip()
		return
	}
	for s.Open(); s.Next('}'); {
		switch string(s.Key()) {
		case "prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount":
			u.in = max(u.in, s.amount())
		case "completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount":
			u.out = max(u.out, s.amount())
		case "thoughtsTokenCount":
			u.thoughts = max(u.thoughts, s.amount())
		case "total_tokens", "totalTokens", "totalTokenCount":
			u.total = max(u.total, s.amount())
		case "cache_read_input_tokens", "cacheReadInputTokens":
			u.cacheRead = max(u.cacheRead, s.amount())
		case "cache_creation_input_tokens", "cacheWriteInputTokens":
			u.cacheWrite = max(u.cacheWrite, s.amount())
		case "cached_tokens":
			u.cached = max(u.cached, s.amount())
		case "billed_units", "tokens", "prompt_tokens_details", "input_tokens_details":
			u.read(s, depth+1)
		default:
			s.Skip()
		}
	}
}

// tokens is the cost where a limit counts input and output together.
func (u *usage) tokens() throttle.Cost {
	c := throttle.Cost{Tokens: u.total, Input: u.in, Output: u.out + u.thoughts}
	if missing := u.total - c.Input - c.Output; missing > 0 {
		if c.Input == 0 { // embeddings report only the total
			c.Input = missing
		} else { // some leave the reasoning out of what was generated
			c.Output += missing
		}
	}
	return c
}

// fresh is tokens without what came from the cache.
func (u *usage) fresh() throttle.Cost {
	c := u.tokens()
	c.Input, c.Tokens = c.Input-u.cached, c.Tokens-u.cached
	return c
}

// uncached leaves out what came from the cache, which Anthropic's limits do not count.
func (u *usage) uncached() throttle.Cost {
	return throttle.Cost{Input: u.in + u.cacheWrite, Output: u.out}
}

// all counts what the cache read and wrote as well.
func (u *usage) all() throttle.Cost {
	return throttle.Cost{Input: u.in + u.cacheRead + u.cacheWrite, Output: u.out}
}

// input counts the prompt alone, as Gemini's limits on tokens do.
func (u *usage) input() throttle.Cost {
	return throttle.Cost{Tokens: u.in, Input: u.in, Output: u.out + u.thoughts}
}

func bounded(n int64) int64 { return min(max(n, 0), throttle.MaxAmount) }

// queryCost is what Shopify's GraphQL says of its bucket of points.
type queryCost struct {
	requested, actual       int64
	most, available, refill int64 // refill is points per second
	known                   bool  // available was reported
}

// read takes extensions.cost.
func (q *queryCost) read(s *scanner) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	for s.Open(); s.Next('}'); {
		switch string(s.Key()) {
		case "requestedQueryCost":
			q.requested = s.amount()
		case "actualQueryCost":
			q.actual = s.amount()
		case "throttleStatus":
			q.readStatus(s)
		default:
			s.Skip()
		}
	}
}

func (q *queryCost) readStatus(s *scanner) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	for s.Open(); s.Next('}'); {
		switch string(s.Key()) {
		case "maximumAvailable":
			q.most = s.amount()
		case "currentlyAvailable":
			q.available, q.known = s.amount(), true
		case "restoreRate":
			q.refill = s.amount()
		default:
			s.Skip()
		}
	}
}

// meter is the bucket as a meter.
func (q *queryCost) meter() adaptive.Meter {
	if !q.known || q.most <= 0 {
		return adaptive.Meter{}
	}
	left := min(q.available, q.most)
	return adaptive.Meter{Known: true, Limit: q.most, Remaining: left, Reset: q.time(q.most - left)}
}

// wait is until the query can be paid for.
func (q *queryCost) wait() time.Duration { return q.time(q.requested - q.available) }

func (q *queryCost) time(points int64) time.Duration {
	if points <= 0 || q.refill <= 0 {
		return 0
	}
	seconds := float64(points) / float64(q.refill)
	return clamp(time.Duration(math.Ceil(min(seconds, longest.Seconds()) * float64(time.Second))))
}
