package client

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// Call is an item and what is noted about its latest attempt.
type Call struct {
	Reserved int64 // tokens: the prompt and the most it may generate; 0 where they are not counted
	Guess    int64 // what the policy takes that for
	Used     int64 // tokens in the end
	Refusals int   // so far

	Seq    int64 // running number of the process's attempts, from 1
	SentAt time.Duration
	Others int   // on the wire when it was sent
	Total  int64 // tokens guessed for all attempts so far, this one included

	latency time.Duration
	answer  provider.Answer
}

const (
	prompt, promptSpread   = 800, 0.7
	longestPrompt          = 6000
	answerLen, answerSwing = 400, 0.6
	longestAnswer          = 1024 // max_tokens, which is reserved
	longestTail            = 4096 // max_tokens where answers have a heavy tail
	latencySpread          = 0.6
	refusalSpread          = 0.3
)

// draw makes c a fresh item. A call that generates takes the longer the more it says.
func (c *Call) draw(demand world.Chance, s *Setting) {
	if !s.Tokens {
		*c = Call{latency: stretch(s.Latency, demand.LogNormal(1, latencySpread))}
		return
	}
	in, out, most := s.tokens(demand)
	*c = Call{
		Reserved: in + most, Used: in + out, Guess: in + most,
		latency: stretch(s.Latency, 0.3+0.7*float64(out)/answerLen),
	}
	if s.Guess != (Range{}) {
		c.Guess = max(1, int64(float64(c.Reserved)*demand.LogUniform(s.Guess.Low, s.Guess.High)))
	}
}

// largestShare is how much of the provider's bucket of tokens one call may
// reserve: a larger one would hardly ever be admitted, or never.
const largestShare = 0.75

// tokens draws a prompt, an answer and the longest answer that the call allows.
func (s *Setting) tokens(demand world.Chance) (in, out, most int64) {
	if s.Tail == 0 {
		in = min(longestPrompt, int64(demand.LogNormal(prompt, promptSpread)))
		return in, min(longestAnswer, int64(demand.LogNormal(answerLen, answerSwing))), longestAnswer
	}
	in = min(int64(largestShare*s.Provider.Tokens.Burst)-longestTail, int64(demand.LogNormal(prompt, s.Tail)))
	return in, min(longestTail, int64(demand.LogNormal(answerLen, s.Tail))), longestTail
}

func stretch(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
