package playground

import (
	"slices"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/rival"
)

// Controller is one that the page offers.
type Controller struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	About string `json:"about"`
	Shown bool   `json:"shown"` // unless another choice was made

	contender string // in the lists of the simulator
}

// Controllers returns all that can be chosen, in the order of the page.
func Controllers() []Controller {
	return []Controller{
		{"headrace", "headrace", "The controller of this project. It reads Retry-After and rate-limit headers if the provider sends them.", true, law.Blind},
		{"retry", "Naive retry", "A worker for each caller. A rejected call is retried after Retry-After, or after a backoff of 0.5 to 8 s.", true, "fixed pool 32 + SDK retry"},
		{"aimd", "AIMD", "Calls in flight are halved at a 429 and raised by a fifth after ten successes.", true, "AIMD x0.5 / x1.2"},
		{"aws", "AWS adaptive", "The adaptive retry mode of the AWS SDKs: a token bucket whose rate follows CUBIC.", true, "AWS adaptive (CUBIC)"},
		{"inspect", "inspect_ai", "The adaptive concurrency of inspect_ai: slow start, then 5 % a round, x0.8 after 429s.", true, "inspect_ai"},
		{"nall", "Nall", "Nall.RateLimiting.Adaptive: a rate that falls to 70 % at a 429 and rises every 10 s.", true, "Nall"},
		{"promptfoo", "promptfoo", "The adaptive concurrency of promptfoo: halved at a 429, x1.5 after five successes.", false, "promptfoo"},
		{"netflix-aimd", "Netflix AIMD", "AIMDLimit of Netflix concurrency-limits.", false, "Netflix AIMD"},
		{"vegas", "Netflix Vegas", "VegasLimit of Netflix concurrency-limits, which goes by latency.", false, "Netflix Vegas"},
		{"gradient2", "Netflix Gradient2", "Gradient2Limit of Netflix concurrency-limits, which goes by latency.", false, "Netflix Gradient2"},
	}
}

// find returns the controller with an ID, or nil.
func find(id string) *Controller {
	all := Controllers()
	i := slices.IndexFunc(all, func(c Controller) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// play returns c as the simulator has it. Headers make a difference to one that
// reads them, which is only the first.
func (c *Controller) play(headers bool) client.Contender {
	name := c.contender
	if name == law.Blind && headers {
		name = law.Headers
	}
	all := slices.Concat(law.All(), rival.All())
	return all[slices.IndexFunc(all, func(x client.Contender) bool { return x.Name == name })]
}
