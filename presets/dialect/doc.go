// Package dialect reads what providers say about their limits, and estimates
// what they will charge.
//
// Every provider has header fields, error codes and ways to write a time of its
// own. A [Dialect] turns them into one adaptive.Feedback: was the call refused
// for rate, or because the service is full, or because the money is gone;
// which limit was it; how long to wait; and what is left of each limit.
//
//	f := dialect.OpenAI.Read(time.Now(), resp.StatusCode, resp.Header, body)
//
// A limiter gets its detector from a dialect:
//
//	openai, err := guard.New(guard.Policy{Name: "openai", Dialect: dialect.OpenAI})
//
// [Auto] finds out who speaks; [Generic] reads Retry-After, the RateLimit
// fields of draft-ietf-httpapi-ratelimit-headers in all their versions, and the
// X-RateLimit fields.
//
// # What is judged how
//
// An answer is judged by its status, the codes and the text of its body, and its
// header together:
//
//   - Terminal: a quota or a balance is used up. It closes the key.
//   - Hit: refused for rate, or for too many calls in flight.
//   - Overloaded: the service as a whole is full.
//   - Transient: another attempt may cure it.
//   - OK: everything else, which is final for this item: a success, a bad request,
//     a request that is larger than the whole limit.
//
// A Hit or Overloaded with x-should-retry: false is Final: the limiter hears
// it, and the item fails. Anything else that says so is OK.
//
// The wait is what Retry-After-Ms or Retry-After say; else what the body says
// (google.rpc.RetryInfo); else when the limit that is used up is back; else what
// the message spells out. It is never negative and at most 31 days.
//
// A meter is known only if its limit and what is left of it are: -1, zero limits
// and nonsense are not. Where several limits tell of one unit, the one with the
// least left speaks. A reset that is not told is 0. Where a provider counts in
// windows, the reset is until the window turns; OpenAI, Anthropic and Groq tell
// when a bucket is full again. Both are when what is left is the limit again.
package dialect
