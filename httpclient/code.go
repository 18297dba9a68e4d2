package httpclient

// Code is the kind of an Error. Match it with errors.Is:
//
//	if errors.Is(err, httpclient.CodeConnect) { ... }
//
// More codes may be added.
type Code string //nolint:errname // what errors.Is compares with, and no error that is returned

// The codes.
//
//nolint:errname // what errors.Is compares with, and no errors that are returned
const (
	CodeDNS            Code = "E_NET_DNS"             // the host name was not found, or not in time
	CodeConnect        Code = "E_NET_CONNECT"         // no connection was made, also by the proxy; nothing was sent
	CodeConnectTimeout Code = "E_NET_CONNECT_TIMEOUT" // no connection in time, including the proxy's part; nothing was sent
	CodeTLS            Code = "E_TLS"                 // the TLS handshake failed or timed out, or TLS ended the connection later
	CodeHeaderTimeout  Code = "E_NET_HEADER_TIMEOUT"  // sending the request or waiting for the response header took too long
	CodeRead           Code = "E_NET_READ"            // the connection or stream broke after sending began
	CodeReadTimeout    Code = "E_NET_READ_TIMEOUT"    // the body stalled, or did not end in time
	CodeProtocol       Code = "E_NET_PROTOCOL"        // invalid HTTP or compression
	CodeRedirect       Code = "E_NET_REDIRECT"        // a redirect that is not followed, or with a target that is not a URL
	CodeUpload         Code = "E_UPLOAD"              // the request body failed, or had not its ContentLength; a part may have been sent
	CodeBodyLimit      Code = "E_BODY_LIMIT"          // a body is longer than Config allows
	CodeStatus         Code = "E_HTTP_STATUS"         // the status is not 2xx; only CheckStatus and package endpoint return it
	CodeAnswer         Code = "E_ANSWER"              // the status is 2xx, but endpoint.Config.CheckAnswer rejects the response
	CodeCanceled       Code = "E_CANCELED"            // a context ended: the caller's, or one in Config.Wrap
	CodeUnsent         Code = "E_UNSENT"              // rejected before sending: an invalid request, the breaker, Gate, Wrap or Sign, or a closed client
	CodeUnknown        Code = "E_NET_UNKNOWN"         // anything else
)

// Error implements error, for errors.Is.
func (c Code) Error() string { return string(c) }

// Phase is how far an attempt got.
type Phase string

// The phases, in their order.
const (
	PhasePrepare Phase = "prepare" // checked, signed, or waiting for a connection of the pool
	PhaseConnect Phase = "connect" // DNS, TCP, and the exchange with a proxy
	PhaseTLS     Phase = "tls"     // the handshake
	PhaseSend    Phase = "send"    // connected
	PhaseHeader  Phase = "header"  // sent, waiting for the response header
	PhaseBody    Phase = "body"    // response header received
)

// unsent reports whether the server cannot have seen the request.
func (p Phase) unsent() bool { return p == PhasePrepare || p == PhaseConnect || p == PhaseTLS }
