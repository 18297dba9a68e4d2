package main

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/providertest"
)

// service answers by rules, refuses one call for rate, and fails at one reply.
func service() (*providertest.Server, error) {
	var refused atomic.Bool
	return providertest.New(providertest.Config{
		Reply: func(r providertest.Request) string {
			text, sorting := strings.CutPrefix(r.Messages[0].Content, "Praise, question or complaint? One word. ")
			switch {
			case !sorting:
				return "Thank you for writing."
			case strings.Contains(text, " but "):
				return "Both."
			case strings.HasSuffix(text, "?"):
				return string(question)
			case strings.Contains(text, "n't"):
				return string(complaint)
			default:
				return string(praise)
			}
		},
		Fault: func(r providertest.Request) *providertest.Fault {
			if strings.HasPrefix(r.Key, "draft The door") {
				return &providertest.Fault{Status: http.StatusInternalServerError}
			}
			if strings.HasPrefix(r.Key, "draft The sack") && !refused.Swap(true) {
				return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After-Ms": {"20"}}}
			}
			return nil
		},
	})
}
