// Package telemetry turns events into OpenTelemetry metrics and spans. It needs the API of
// OpenTelemetry only; the SDK, the exporters and what they are set to are the program's.
//
//	o, err := telemetry.New(telemetry.Config{MeterProvider: meters, TracerProvider: tracers})
//	if err != nil {
//		return err
//	}
//	report, err := flow.Run(ctx, f, state, flow.WithObserver(o))
//
// [Observer] is an event.Observer like any other: event.With puts it into a context,
// event.Tee beside another, and it may be given to flows, clients and limiters, to all of them too: what comes to it by two
// ways is counted once. Do not put it behind event.NewBuffer, which passes on events and neither spans nor calls.
//
// # Spans
//
// The context of a span is the one that the work runs under, so what is made inside, by otelhttp or by hand, is
// its child: a flow, its nodes, their items, attempts, model calls and requests are one trace.
//
//	flow <name>              a run of a flow: headrace.flow.name, headrace.action
//	node <name>              a run of a node: headrace.node.name
//	item <name>              Spans.Items: headrace.node.name, headrace.item.index, headrace.item.outcome, headrace.item.attempts,
//	                         and headrace.item.key with Spans.Keys
//	attempt <name>           Spans.Attempts: headrace.node.name, headrace.attempt, headrace.item.index. From its admission to
//	                         its end: the rest of an item is waiting. One that was refused and goes again has the same number
//	<operation> <model>      a model call through headrace.Transport: see below
//
// Flows, nodes and model calls inside of an item are spans only with Spans.Items: there are as many as items. An item
// span is for each item, also of a million: leave the choice to a sampler of the SDK.
//
// A span that failed has the status Error, error.type and an event "exception" with exception.type, by the conventions for
// errors. The text of errors, in the status and as exception.message, is only there with Spans.ErrorText. An item that is abandoned, because its
// run was stopped, is pending and no failure: its status is unset. Whatever ends an item, a cancel, a panic or code that
// never returns, ends its span by the end of the run.
//
// What happens meanwhile is an event of the innermost span, if that is recording. It may be one that the program made itself:
//
//	headrace.item.retry       headrace.attempt, headrace.wait (seconds), headrace.item.index, error.type
//	headrace.limiter.hit      headrace.limiter.name, headrace.limiter.hit.kind, headrace.wait, error.type
//	headrace.limiter.cut      headrace.limiter.name, headrace.limiter.from, headrace.limiter.to
//	headrace.limiter.closed   headrace.limiter.name, error.type
//	headrace.flow.step        headrace.node.name, headrace.action, headrace.flow.step, error.type
//
// The SDK keeps 128 events of a span unless it is told otherwise.
//
// # Flows, nodes and items
//
//	headrace.flow.duration       s        a run of a flow: headrace.flow.name, error.type
//	headrace.node.duration       s        a run of a node: headrace.node.name, error.type
//	headrace.node.items          {item}   a counter, at their end: headrace.node.name, headrace.item.outcome, error.type
//	headrace.node.item.duration  s        the same, but not for those that are resumed, which take no time
//	headrace.node.retries        {retry}  a counter: headrace.node.name, error.type
//
// headrace.item.outcome is done, failed, resumed (an earlier run had done it) or abandoned (the run was stopped before it
// was done).
//
// # Limiters
//
//	headrace.limiter.wait           s         how long a call waited to be admitted: headrace.limiter.outcome
//	headrace.limiter.call.duration  s         from its admission to its end: headrace.limiter.outcome
//	headrace.limiter.hits           {hit}     a counter: refusals by the provider: headrace.limiter.hit.kind
//	headrace.limiter.cuts           {cut}     a counter: times that the limiter lowered what it allows
//	headrace.limiter.limit          {call}    how many calls may be in flight; nothing where that is unbounded
//	headrace.limiter.in_flight      {call}    how many are
//	headrace.limiter.waiting        {call}    how many wait to be admitted
//	headrace.limiter.pace           {unit}/s  what the law has learnt that the provider takes: headrace.unit
//
// All have headrace.limiter.name. headrace.limiter.hit.kind is requests, tokens, concurrency, unknown, or overloaded for
// a service that is full as a whole. headrace.limiter.outcome is ok, hit, overloaded, transient, terminal, unsent, unclassified, or
// unadmitted for a call that was not let go. A call that is refused and goes again counts each time. Those of adaptive limiters are
// told; a throttle.Limiter by itself tells none.
//
// The last four are looked at when the reader collects: for the limiters that [Observer.Watch] was given, and for those that
// a flow shows that runs with flow.WithProgress. Limiters of one name are added up.
//
// # Executors
//
//	headrace.executor.ended          {task}   a counter, at their end: headrace.task.state, error.type
//	headrace.executor.retries        {retry}  a counter: error.type
//	headrace.executor.task.duration  s        from Submit to its end: headrace.task.state, error.type, as all of these
//	headrace.executor.task.queued    s        in the queue
//	headrace.executor.task.waited    s        for limits, and between attempts; if it was called, as the one that follows
//	headrace.executor.task.called    s        in its calls, all attempts
//	headrace.executor.tasks          {task}   how many there are: headrace.task.state; queued is the depth of the queue
//	headrace.executor.slots          {call}   how many slots of the concurrency are in use
//	headrace.executor.concurrency    {call}   how many there are
//	headrace.executor.window.left    {unit}   what is left of each window: headrace.window, such as 500/min, and headrace.unit
//
// All have headrace.executor.name. headrace.task.state is completed, failed or cancelled for tasks that have ended, and pending,
// queued, processing or calling for others. The last four are looked at when the reader collects, for what
// [Observer.WatchExecutors] was given. Executors of one name are added up; of windows with the same text the least that is left is told.
//
// # Model calls
//
// A POST through headrace.Transport that names a model is a model call, from the call to the end of the answer's body, waits and
// resends included. Its span is of the kind client and named after the operation and the model, such as "chat gpt-4o".
//
//	gen_ai.client.operation.duration  s
//	gen_ai.client.token.usage         {token}  as the answer tells, for each gen_ai.token.type, input and output
//
// Metrics and spans have gen_ai.operation.name (chat, text_completion, generate_content or embeddings, by the path),
// gen_ai.provider.name, gen_ai.request.model, gen_ai.response.model if the answer names one, server.address, server.port, and error.type: the status, or what is
// said below of failures. Spans have gen_ai.usage.input_tokens and gen_ai.usage.output_tokens too, and headrace.attempts. Input has what came from a cache.
// Nothing that was said to or by the model is in any of them.
//
// These are the conventions for generative AI as version 1.41.0 had them, the last before they moved to a
// repository of their own. They are in development: names may change, in one file here.
//
// # Requests
//
// One measurement for each request of a httpclient.Client, when it ends, however often it was sent:
//
//	headrace.http.client.wait                s          before the first attempt, or until it was given up
//	headrace.http.client.attempts            {attempt}  how often it went to the wire; the count of requests too
//	headrace.http.client.cached              {request}  a counter: answered without the wire, and without a wait
//	headrace.http.client.duration            s          from the first attempt to the end of the body
//	headrace.http.client.first_byte          s          from the first attempt to the header of the last answer
//	headrace.http.client.request.body.size   By         as far as it was declared or read
//	headrace.http.client.response.body.size  By         as far as it was read, after decompression
//
// The last four only if there was an attempt, and first_byte and the answer's size only if there was an answer. Duration and
// first_byte leave out the wait before the first attempt. What lies between attempts, such as a Retry-After that was kept to, is in
// them: a 429 that was sent again shows in attempts and in headrace.limiter.hits.
//
// Their attributes follow version 1.43.0 of the semantic conventions for clients of HTTP, but for the first:
//
//	headrace.service           httpclient.Config.Service, if it is set; _OTHER beyond Config.MaxNames
//	http.request.method        of RFC 9110, PATCH and QUERY, else _OTHER
//	server.address             the host in lower case, or _OTHER beyond Config.MaxNames
//	server.port                the one in the URL, or that of its scheme; of _OTHER that of the scheme
//	http.response.status_code  if there was an answer
//	network.protocol.version   1.0, 1.1, 2 or 3, if there was an answer; network.protocol.name is http, and so left out
//	error.type                 if it failed: see below
//
// http.client.request.duration and the other names of the conventions are for one attempt each, as a span is, and a request
// tells of itself only as a whole. They are otelhttp's: put otelhttp.NewTransport last into httpclient.Config.Wrap, below a limiter and
// whatever sends again, for a span and the conventions' metrics of each attempt. No name is recorded twice.
//
// # Downloads
//
//	headrace.download.duration  s   of the whole, its requests and the waits between them
//	headrace.download.size      By  what was fetched, without what an earlier call had left
//
// Both have server.address, and error.type if there is no file.
//
// # What failed, and how much is told
//
// error.type is what the error's method ErrorType says, which for a *httpclient.Error is its Code, such as E_NET_CONNECT. For requests and
// downloads it is _OTHER for an error without one, and for a request with a status from 400 on, if there is no other error, the status. For flows,
// nodes, items and model calls it is rate_limited, timeout, canceled, or else the type of the error, such as *fault.PanicError.
//
// Names of flows, nodes, executors, limiters, services, hosts and models are told apart up to Config.MaxNames each, and are _OTHER beyond it; in
// spans they are all told. Measurements are made outside of the context of the work, and have no exemplars. Nothing
// holds a URL, an id, or what was sent or answered; the text of an error and the key of an item only on request.
package telemetry
