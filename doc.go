// Package headrace is the front door: a transport that goes under the SDK one
// already uses, and has its calls wait instead of fail.
//
//	client := openai.NewClient(
//		option.WithHTTPClient(&http.Client{Transport: headrace.Transport(nil, presets.OpenAITier1)}),
//		option.WithMaxRetries(0),
//	)
//
// [Transport] waits at a limiter that finds what the provider really allows,
// reads what the provider says about its limits, sends what was refused for rate
// again, and settles to the tokens that were really used. The packages
// behind it do the same for functions, lists and flows: node, flow, registry.
package headrace
