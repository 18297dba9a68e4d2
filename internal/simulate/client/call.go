package client

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// Call is an item and what is noted about its latest attempt.
type Call struct {
	Reserved int64 // tokens: the prompt and the most it may generate; 0 where nobody counts them
	Used     int64 // tokens in the end
	Refusals int   // so far

	Seq    int64 // running number of the process's attempts, from 1
	SentAt time.Duration
	Others int   // on the wire when it was sent
	Total  int64 // tokens reserved by all attempts so far, this one included

	latency time.Duration
	window  window // that it was sent in
	answer  provider.Answer
}

const (
	prompt, promptSpread   = 800, 0.7
	longestPrompt          = 6000
	answerLen, answerSwing = 400, 0.6
	longestAnswer          = 1024 // max_tokens, which is reserved
	latencySpread          = 0.6
	refusalSpread          = 0.3
)

// draw makes c a fresh item. A call that generates takes the longer the more it says.
func (c *Call) draw(demand world.Chance, s *Setting) {
	if !s.Tokens {
		*c = Call{latency: stretch(s.Latency, demand.LogNormal(1, latencySpread))}
		return
	}
	in := min(longestPrompt, int64(demand.LogNormal(prompt, promptSpread)))
	out := min(longestAnswer, int64(demand.LogNormal(answerLen, answerSwing)))
	*c = Call{
		Reserved: in + longestAnswer, Used: in + out,
		latency: stretch(s.Latency, 0.3+0.7*float64(out)/answerLen),
	}
}

func stretch(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
