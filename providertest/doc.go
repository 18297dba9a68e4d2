// Package providertest is a fake language-model provider for tests: it speaks
// real HTTP, enforces limits that its clients cannot see, and writes down
// everything that happened to every request.
//
// A [Server] answers POST requests to OpenAI's /v1/chat/completions and
// /v1/embeddings and to Anthropic's /v1/messages; chats and messages are streamed
// on request. [Limits] say what it allows: calls in flight, a token bucket of
// requests, a fixed window, tokens of the prompt, of the answer or of both, each
// optional. A request over a limit gets a 429 in the [Dialect] of the route or of
// any other provider, with as much or as little advice as [Config] grants
// ([RetryAfter], rate-limit headers). An admitted one takes as long as its
// [Latency] says and is answered by [Config.Reply]. [Config.Fault] scripts
// everything else that goes wrong: 500, 503, 529, money gone, a header that is
// slow or lies, an answer that breaks off or stalls.
//
// Afterwards the [Ledger] tells what the server saw: each [Arrival] with its
// attempt and its tokens, the [Counts], the peak of calls in flight, and, joined
// with the keys a client meant to send, an [Audit] of the items it lost or did
// twice.
//
// # Two ways in
//
// [Server.URL] is a free port on the loopback, for any client, SDK or process.
// [Server.Transport] calls the same handler in the caller's goroutine without a
// socket. It is quick, and inside a testing/synctest bubble latencies and
// refills pass in virtual time. In a bubble, create the server inside it, use
// it from that bubble only and leave URL alone: a goroutine that waits for the
// network keeps a bubble's clock from moving.
//
// # Time
//
// Limits are judged at one instant, a request's arrival: when its body has been
// read and Fault has let it pass. It is admitted by all limits, or refused and
// nothing is taken (but see [Config.RefusalsCount]). A concurrency slot is given
// back just before the answer is written, so a client that keeps to the cap is
// never refused for its own previous call.
//
// The package imports the standard library only, and not package testing, so it
// may also serve demonstrations and load generators.
package providertest
