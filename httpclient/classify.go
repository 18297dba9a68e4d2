package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/headrace/headrace/internal/ended"
	"github.com/headrace/headrace/internal/nothttp"
)

// classify says what err is that ended an attempt at phase. Types alone cannot: a handshake that the other side hangs
// up on is a bare io.EOF.
func classify(phase Phase, err error) Code {
	switch {
	case isA[*tooLongError](err):
		return CodeBodyLimit
	case isA[*GateError](err), errors.Is(err, ErrClosed) && phase.unsent():
		return CodeUnsent
	case errors.Is(err, ErrClosed):
		return CodeRead
	case isA[*resentError](err):
		return CodeRead
	case isA[*net.DNSError](err):
		return CodeDNS
	case phase == PhaseTLS, isTLS(err):
		return CodeTLS
	case phase == PhaseConnect && timedOut(err), phase == PhasePrepare && isA[*ended.LateError](err):
		return CodeConnectTimeout
	case phase == PhaseConnect:
		return CodeConnect
	case phase == PhasePrepare:
		return CodeUnsent
	case timedOut(err) && phase == PhaseBody:
		return CodeReadTimeout
	case timedOut(err):
		return CodeHeaderTimeout
	default:
		return classifyAnswer(err)
	}
}

// classifyAnswer is for what happens on a connection.
func classifyAnswer(err error) Code {
	if reset, ok := errors.AsType[streamError](err); ok {
		return reset.classify()
	}
	switch {
	case errors.Is(err, errSwitched), nothttp.Is(err):
		return CodeProtocol
	case isBroken(err):
		return CodeRead
	default:
		return CodeUnknown
	}
}

// isTLS finds what TLS says after the handshake too: in TLS 1.3 a server refuses a client's certificate when the
// client has long begun to send.
func isTLS(err error) bool {
	if alert, ok := errors.AsType[*net.OpError](err); ok && (alert.Op == "remote error" || alert.Op == "local error") {
		return true // how crypto/tls wraps an alert
	}
	return isA[tls.AlertError](err) || isA[tls.RecordHeaderError](err) || isA[*tls.CertificateVerificationError](err) ||
		isA[x509.UnknownAuthorityError](err) || isA[x509.HostnameError](err) || isA[x509.CertificateInvalidError](err)
}

// streamError is the one of HTTP/2 inside net/http, which errors.As converts to any struct of this name's last word
// and these fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "stream error" }

// The codes of RFC 9113, section 7, that blame what was sent and not the state of the sender.
const (
	h2Protocol           = 1
	h2FlowControl        = 3
	h2StreamClosed       = 5
	h2FrameSize          = 6
	h2Compression        = 9
	h2InadequateSecurity = 12
)

func (e streamError) classify() Code {
	switch e.Code {
	case h2Protocol, h2FlowControl, h2StreamClosed, h2FrameSize, h2Compression:
		return CodeProtocol
	case h2InadequateSecurity:
		return CodeTLS
	default:
		return CodeRead
	}
}

// isBroken looks at types first. net/http has no types for the rest: its words are all there is, and the corpus in
// the tests holds them.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || isA[*net.OpError](err) {
		return true
	}
	return says(err,
		"server closed idle connection", "GOAWAY", "http2: client conn", "unexpected EOF", "connection reset by peer", "broken pipe", "readLoopPeekFailLocked")
}

func says(err error, words ...string) bool {
	text := err.Error()
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
