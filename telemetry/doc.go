// Package telemetry turns events into OpenTelemetry metrics. It needs the API of
// OpenTelemetry only; the SDK, the exporter and what they are set to are the program's.
//
//	o, err := telemetry.New(telemetry.Config{MeterProvider: provider})
//	if err != nil {
//		return err
//	}
//	c, err := httpclient.New(httpclient.Config{Observer: o})
//
// [Observer] is an event.Observer like any other: event.With puts it into a context,
// event.Tee beside another, and it may be given to clients, limiters and flows together.
//
// # Requests
//
// One measurement for each request of a client, when it ends, however often it was sent:
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
// # Attributes of requests
//
// They follow version 1.43.0 of the semantic conventions for clients of HTTP, but for the first.
//
//	headrace.service           httpclient.Config.Service, if it is set; _OTHER beyond Config.MaxNames
//	http.request.method        of RFC 9110, PATCH and QUERY, else _OTHER
//	server.address             the host in lower case, or _OTHER beyond Config.MaxNames
//	server.port                the one in the URL, or that of its scheme; of _OTHER that of the scheme
//	http.response.status_code  if there was an answer
//	network.protocol.version   1.0, 1.1, 2 or 3, if there was an answer; network.protocol.name is http, and so left out
//	error.type                 if it failed: see below
//
// error.type is what the error's method ErrorType says, which for a *httpclient.Error is
// its Code, such as E_NET_CONNECT; _OTHER for an error without one; and for a status from 400 on,
// if there is no other error, the status.
//
// # Downloads
//
//	headrace.download.duration  s   of the whole, its requests and the waits between them
//	headrace.download.size      By  what was fetched, without what an earlier call had left
//
// Both have server.address, and error.type if there is no file.
//
// # Limiters
//
//	headrace.limiter.hits  {hit}  a counter: refusals by the provider
//	headrace.limiter.cuts  {cut}  a counter: times that the limiter lowered what it allows
//
// Both have headrace.limiter.name.
//
// # Attempts and spans
//
// http.client.request.duration and the other names of the conventions are for one attempt each, as a span is, and a request
// tells of itself only as a whole. They are otelhttp's: put otelhttp.NewTransport last into httpclient.Config.Wrap, below a limiter and
// whatever sends again, for a span and the conventions' metrics of each attempt. No name is recorded twice.
//
// An event comes when its request is over, and without a context, so no measurement here has an exemplar. Nothing holds
// a URL, an id or any text of an error.
package telemetry
