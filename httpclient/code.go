package httpclient

// Code says what kind of failure an [Error] is. Match it with errors.Is:
//
//	if errors.Is(err, httpclient.CodeConnect) { ... }
//
// The set may grow.
type Code string //nolint:errname // what errors.Is compares with, and no error that is returned

// The codes.
//
//nolint:errname // what errors.Is compares with, and no errors that are returned
const (
	// CodeDNS: the name of the host was not found, or not in time.
	CodeDNS Code = "E_NET_DNS"
	// CodeConnect: no connection could be made, or the proxy made none. Nothing was sent.
	CodeConnect Code = "E_NET_CONNECT"
	// CodeConnectTimeout: no connection was made in time, a proxy's part included. Nothing was sent.
	CodeConnectTimeout Code = "E_NET_CONNECT_TIMEOUT"
	// CodeTLS: the handshake failed or took too long, or TLS ended the connection later.
	CodeTLS Code = "E_TLS"
	// CodeHeaderTimeout: the request was not taken, or no header came, in time.
	CodeHeaderTimeout Code = "E_NET_HEADER_TIMEOUT"
	// CodeRead: the connection or the stream broke after the request began to be sent.
	CodeRead Code = "E_NET_READ"
	// CodeReadTimeout: the body did not go on, or did not end, in time.
	CodeReadTimeout Code = "E_NET_READ_TIMEOUT"
	// CodeProtocol: what came is not the HTTP, or not the compression, that it says it is.
	CodeProtocol Code = "E_NET_PROTOCOL"
	// CodeRedirect: a redirect that is not followed, see Config.FailOnRedirect and Client.FollowAudited, or whose
	// target is no URL.
	CodeRedirect Code = "E_NET_REDIRECT"
	// CodeUpload: the body of the request could not be read, or was not as long as its ContentLength. A part of it may
	// have been sent.
	CodeUpload Code = "E_UPLOAD"
	// CodeBodyLimit: a body is longer than Config allows.
	CodeBodyLimit Code = "E_BODY_LIMIT"
	// CodeStatus: the status is not 2xx. Only CheckStatus makes it.
	CodeStatus Code = "E_HTTP_STATUS"
	// CodeCanceled: the caller's context ended, or that of something in Config.Wrap; errors.Is tells context.Canceled
	// from context.DeadlineExceeded.
	CodeCanceled Code = "E_CANCELED"
	// CodeUnsent: nothing was sent, and not because of the network: the request is no valid one, the breaker,
	// Config.Gate or something in Config.Wrap refused, Config.Sign failed, or the client is closed.
	CodeUnsent Code = "E_UNSENT"
	// CodeUnknown: a fault that this version has not seen.
	CodeUnknown Code = "E_NET_UNKNOWN"
)

// Error returns the code, which makes it a target for errors.Is.
func (c Code) Error() string { return string(c) }

// Phase is how far an attempt had come.
type Phase string

// The phases, in their order.
const (
	PhasePrepare Phase = "prepare" // refused, signed, or waiting for a place in the pool
	PhaseConnect Phase = "connect" // DNS, TCP, and what a proxy asks for
	PhaseTLS     Phase = "tls"     // the handshake
	PhaseSend    Phase = "send"    // it has a connection
	PhaseHeader  Phase = "header"  // sent, waiting for the answer
	PhaseBody    Phase = "body"    // has the answer's header
)

// unsent reports whether the other side cannot have heard of it.
func (p Phase) unsent() bool { return p == PhasePrepare || p == PhaseConnect || p == PhaseTLS }
