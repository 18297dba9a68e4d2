// Package httpclient makes a long-lived HTTP client for one service, with a bound on every phase, body and pool.
//
//	c, err := httpclient.New(httpclient.Config{Service: "openai"})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	resp, err := c.Do(req)
//
// Compared with http.DefaultClient:
//
//   - Each phase of an attempt has a timeout (Timeouts), which starts after Config.Wrap: waiting for
//     admission does not use it up.
//   - Bodies are limited both ways, after decompression.
//   - Redirects, the environment's proxies and cookies are not used. [Client.FollowAudited] follows redirects
//     through a [Gate].
//   - Every error is an [Error] with a [Code] for errors.Is. It holds no header and no query value.
//   - Each request emits one event.NetRequest.
//
// An HTTP status is not an error; CheckStatus makes one of it. Close the body of every response.
//
// A request passes, from the outside in: ids, event and error type; Config.Cache; Config.Wrap, the first
// outermost; Breaker; Sign; timeouts and limits; the connection.
//
// The guide docs/http.md covers retries, gates, redirects, secrets, and endpoints, which are package endpoint.
package httpclient
