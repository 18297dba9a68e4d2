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
// # Requests that went to the wire
//
// These follow version 1.43.0 of the semantic conventions for clients of HTTP. They are
// recorded once for each request of a client with at least one attempt, when it ends,
// retries included.
//
//	http.client.request.duration    s    from when Config.Wrap let it go to the end of the body
//	http.client.request.body.size   By   as far as it was declared or read
//	http.client.response.body.size  By   as far as it was read; only if there was an answer
//
// The duration leaves out the wait in limiters, which is ours and not the server's. The
// size of an answer is the one after decompression: what was on the wire is not known.
//
// # Requests that were asked for
//
// These are ours, and count every request, one that a cache answered and one that was refused
// unsent included.
//
//	headrace.http.client.wait      s          before it was let go, or given up
//	headrace.http.client.attempts  {attempt}  how often it went to the wire; the count of requests too
//	headrace.http.client.cached    {request}  a counter: answered without the wire, and without a wait
//
// # Attributes of requests
//
//	http.request.method        of RFC 9110, PATCH and QUERY, else _OTHER
//	server.address             the host, or _OTHER beyond Config.MaxNames
//	server.port                the one in the URL, or that of its scheme
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
// # What it is not
//
// There are no spans: an event comes when its request is over, and without a context. Put
// otelhttp.NewTransport into httpclient.Config.Wrap, innermost, for a span of each attempt. For the same
// reason no measurement has an exemplar. Nothing holds a URL, an id or any text of an error.
package telemetry
