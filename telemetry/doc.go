// Package telemetry turns events into OpenTelemetry metrics and spans. It needs only the API of
// OpenTelemetry; the program chooses the SDK and the exporters.
//
//	o, err := telemetry.New(telemetry.Config{MeterProvider: meters, TracerProvider: tracers})
//	...
//	report, err := flow.Run(ctx, f, state, flow.WithObserver(o))
//
// [Observer] is an event.Observer: it can be given to flows, clients and limiters, and to a
// context with event.With. An event that reaches it on two paths counts once. Do not put
// it behind event.NewBuffer, which passes on neither spans nor calls. docs/telemetry.md lists
// all spans and metrics with their attributes.
//
// # Spans
//
// Code runs with the context of its span, so a flow, its nodes, items, attempts, model calls
// and requests are one trace. Events in between are added to the innermost span.
//
//	flow <name>           a run of a flow
//	node <name>           a run of a node
//	item <name>           an item of a batch, with Spans.Items
//	attempt <name>        an attempt at an item or a step, with Spans.Attempts
//	<operation> <model>   a model call through headrace.Transport
//
// # Metrics
//
// The names begin with
//
//	headrace.flow, headrace.node   flows, nodes and items
//	headrace.limiter               guards and limiters
//	headrace.executor              executors
//	headrace.breaker               circuit breakers
//	headrace.http.client           requests of an httpclient.Client as a whole; otelhttp measures each attempt
//	headrace.download              downloads
//	gen_ai.client                  model calls, by version 1.41.0 of the conventions, which may change
//
// The gauges of guards and executors, such as their concurrency limit, are read for those passed to
// [Observer.Watch] and [Observer.WatchExecutors], and for guards of a flow with flow.WithProgress.
// Metrics have at most Config.MaxNames different names each of flows, nodes, limiters, hosts and
// so on; others are _OTHER. Spans and metrics contain no URLs, headers, or content of requests and
// responses, and the text of errors and the keys of items only on request ([Spans]).
package telemetry
