// Package headrace provides [Transport], an http.RoundTripper for an SDK: its calls wait for the provider's limits
// instead of failing.
//
//	client := openai.NewClient(
//		option.WithHTTPClient(&http.Client{Transport: headrace.Transport(nil, presets.OpenAITier1)}),
//		option.WithMaxRetries(0),
//	)
//
// It finds the real limits, reads those the provider reports, retries rate-limit responses, and charges the tokens that
// were used. Packages node, flow and registry do the same for functions, lists and flows.
package headrace
