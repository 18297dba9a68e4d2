// Package providertest is a fake LLM provider for tests. It speaks real HTTP, enforces limits that its clients cannot
// see, and records every request.
//
// A [Server] answers POST requests to OpenAI's /v1/chat/completions and /v1/embeddings and to Anthropic's /v1/messages,
// streamed on request. [Limits] bound the calls in flight, requests and tokens. A request over a limit gets a 429 in the
// [Dialect] of the route or of any other provider, with as much advice as [Config] grants. Config.Fault scripts every
// other failure: 500, 503, 529, a used-up quota, slow or wrong headers, an answer that breaks off or stalls.
//
// The [Ledger] shows what the server saw: each [Arrival], the [Counts] and, compared with the keys that a client meant
// to send, an [Audit] of lost and repeated items.
//
// Server.URL is a free port on the loopback interface. Server.Transport calls the same handler on the caller's
// goroutine, without a socket: inside a testing/synctest bubble, latencies and refills then pass in virtual time. In a
// bubble, create the server inside it, use it there only, and do not call URL, because waiting for the network keeps
// the bubble's clock from moving.
//
// Limits are judged when a request's body has been read and Fault has let it pass. A rejected request takes nothing
// (but see Config.RefusalsCount). A concurrency slot is returned just before the answer is written, so that a client
// that keeps to the limit is never rejected because of its own previous call.
//
// The package imports the standard library only, and not package testing.
package providertest
