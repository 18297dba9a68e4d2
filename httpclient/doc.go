// Package httpclient makes one long-lived http.Client that has a bound for everything: every phase of a request,
// every body, every pool.
//
//	c, err := httpclient.New(httpclient.Config{Service: "openai"})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	resp, err := c.Do(req)
//
// Make one for a service and keep it. [Client.Standard] is the same client for whoever takes an *http.Client, such as
// an SDK.
//
// # What differs from http.DefaultClient
//
//   - Each phase has its own timeout ([Timeouts]), also between two pieces of a
//     body, and the whole of an attempt, which is counted from when Config.Wrap let it
//     go: waiting in a limiter does not use it up.
//   - Bodies are limited both ways, after decompression.
//   - Redirects are not followed but by [Client.FollowAudited], which goes through a
//     [Gate] hop by hop. The environment's proxies are not used, and cookies are not kept.
//   - A failure is one type, [Error], with a [Code] for errors.Is. It names the phase,
//     and holds no header and no value of a query.
//   - Each request is told once, as an event.NetRequest.
//
// An HTTP status is no error. [CheckStatus] makes one of it.
//
// # The order
//
// A request passes, from the outside in: the ids, the event and the type of errors; Config.Wrap, the first outermost;
// the breaker; Config.Sign; the timeouts and limits; the connection. What is in Wrap therefore sees requests without
// what Sign adds, and may send one several times. Each time counts as an attempt.
//
// # Bodies
//
// Close the body of every answer, as with any http.Client. Closing the body of a status from 300 on reads what is
// left of a small one first, for up to a second, so that the connection can be used again.
package httpclient
