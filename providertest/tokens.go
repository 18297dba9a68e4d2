package providertest

import "time"

// Tokens is an amount of tokens, as the limits count them.
type Tokens struct {
	Total  int // what Limits.Tokens counts
	Input  int // what Limits.InputTokens counts
	Output int // what Limits.OutputTokens counts
}

// each returns t in the order of [Limits.tokens].
func (t Tokens) each() [tokenLimits]int { return [...]int{t.Total, t.Input, t.Output} }

// tokenLimits is how many limits count tokens.
const tokenLimits = 3

// tokens returns the limits on tokens, one for each field of [Tokens].
func (l Limits) tokens() [tokenLimits]Bucket {
	return [...]Bucket{l.Tokens, l.InputTokens, l.OutputTokens}
}

// pool is the state of the limits on tokens. A limit that is not in use has the
// zero bucket. It is not safe for concurrent use.
type pool [tokenLimits]bucket

// setLimits installs new limits; see [gate.setLimits]. The pool is at now.
func (p *pool) setLimits(limits Limits, now time.Time) {
	for i, limit := range limits.tokens() {
		switch {
		case limit == Bucket{}:
			p[i] = bucket{}
		case p[i].inUse():
			p[i].resize(limit)
		default:
			p[i] = newBucket(limit, now)
		}
	}
}

func (p *pool) advance(now time.Time) {
	for i := range p {
		if p[i].inUse() {
			p[i].advance(now)
		}
	}
}

// fits reports whether full buckets would hold the cost.
func (p *pool) fits(cost Tokens) bool {
	for i, n := range cost.each() {
		if p[i].inUse() && n > p[i].size() {
			return false
		}
	}
	return true
}

// wait returns which limit makes a request that fits wait the longest, and how long.
func (p *pool) wait(cost Tokens) (refusal reason, wait time.Duration) {
	for i, n := range cost.each() {
		if !p[i].inUse() {
			continue
		}
		if d := p[i].waitFor(n); d > wait {
			refusal, wait = [...]reason{refusedTokens, refusedInputTokens, refusedOutputTokens}[i], d
		}
	}
	return refusal, wait
}

// move gives back one amount and takes another.
func (p *pool) move(back, take Tokens) {
	for i, n := range take.each() {
		if p[i].inUse() {
			p[i].move(back.each()[i], n)
		}
	}
}
