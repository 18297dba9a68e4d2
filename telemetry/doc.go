// Package telemetry makes OpenTelemetry metrics and spans of events. It needs the API of
// OpenTelemetry only; the program brings the SDK and the exporters.
//
//	o, err := telemetry.New(telemetry.Config{MeterProvider: meters, TracerProvider: tracers})
//	if err != nil {
//		return err
//	}
//	report, err := flow.Run(ctx, f, state, flow.WithObserver(o))
//
// [Observer] is an event.Observer: it can be given to flows, clients and limiters, and to a
// context with event.With. An event that reaches it by two ways counts once. Do not put
// it behind event.NewBuffer, which passes on neither spans nor calls.
//
// docs/telemetry.md has the attributes of all spans and metrics.
//
// # Spans
//
// Code runs under the context of its span, so a flow, its nodes, items, attempts, model calls
// and requests are one trace. What happens meanwhile is an event of the innermost span.
//
//	flow <name>           a run of a flow
//	node <name>           a run of a node
//	item <name>           an item of a batch, with Spans.Items
//	attempt <name>        an attempt at an item or a step, with Spans.Attempts
//	<operation> <model>   a model call through headrace.Transport
//
// # Metrics
//
// Of flows, nodes and items:
//
//	headrace.flow.duration       s
//	headrace.node.duration       s
//	headrace.node.items          {item}   counter, by headrace.item.outcome
//	headrace.node.item.duration  s
//	headrace.node.retries        {retry}  counter
//
// Of adaptive limiters; the last four of those that [Observer.Watch] was given or that run in a
// flow with flow.WithProgress:
//
//	headrace.limiter.wait           s
//	headrace.limiter.call.duration  s
//	headrace.limiter.hits           {hit}     counter, by headrace.limiter.hit.kind
//	headrace.limiter.cuts           {cut}     counter
//	headrace.limiter.limit          {call}
//	headrace.limiter.in_flight      {call}
//	headrace.limiter.waiting        {call}
//	headrace.limiter.pace           {unit}/s
//
// Of executors; the last four of those that [Observer.WatchExecutors] was given:
//
//	headrace.executor.ended          {task}   counter, by headrace.task.state
//	headrace.executor.retries        {retry}  counter
//	headrace.executor.task.duration  s
//	headrace.executor.task.queued    s
//	headrace.executor.task.waited    s
//	headrace.executor.task.called    s
//	headrace.executor.tasks          {task}   by headrace.task.state
//	headrace.executor.slots          {call}
//	headrace.executor.concurrency    {call}
//	headrace.executor.window.left    {unit}
//
// Of model calls, by version 1.41.0 of the conventions for generative AI, which are in
// development and may change:
//
//	gen_ai.client.operation.duration  s
//	gen_ai.client.token.usage         {token}
//
// Of requests of a httpclient.Client, as a whole; otelhttp measures each attempt:
//
//	headrace.http.client.wait                s
//	headrace.http.client.attempts            {attempt}
//	headrace.http.client.cached              {request}  counter
//	headrace.http.client.duration            s
//	headrace.http.client.first_byte          s
//	headrace.http.client.request.body.size   By
//	headrace.http.client.response.body.size  By
//
// Of downloads:
//
//	headrace.download.duration  s
//	headrace.download.size      By
//
// Metrics have at most Config.MaxNames different names each of flows, nodes, limiters, hosts and
// so on; others are _OTHER. No span or metric has a URL, a header, or content of requests and
// responses; the text of errors and the keys of items only on request ([Spans]).
package telemetry
