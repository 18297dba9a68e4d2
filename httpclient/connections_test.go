package httpclient

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnections(t *testing.T) {
	cs := newConnections(time.Minute)
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	conn, err := cs.keep(near)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	assert.Empty(t, cs.open, "closing a connection forgets it")

	ctx, done := cs.begin(context.Background())
	defer done()
	require.NoError(t, ctx.Err())
	cs.closeAll()
	<-ctx.Done()
	assert.ErrorIs(t, context.Cause(ctx), ErrClosed, "a dial in progress gets the error")
	_, err = cs.keep(far)
	assert.ErrorIs(t, err, ErrClosed)
	_, err = far.Write([]byte("a"))
	assert.Error(t, err, "what comes too late is closed")
}

// net/http distinguishes these errors by their text only.
func TestClassifyWords(t *testing.T) {
	for text, want := range map[string]Code{
		"net/http: HTTP/1.x transport connection broken: malformed HTTP response":                           CodeProtocol,
		"invalid byte in chunk length":                                                                      CodeProtocol,
		"malformed chunked encoding":                                                                        CodeProtocol,
		"http chunk length too large":                                                                       CodeProtocol,
		"http: message cannot contain multiple Content-Length headers":                                      CodeProtocol,
		"too many transfer encodings":                                                                       CodeProtocol,
		"net/http: server replied with more than declared Content-Length; truncated":                        CodeProtocol,
		"http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=\"\"": CodeRead,
		"http2: Transport received Server's graceful shutdown GOAWAY":                                       CodeRead,
		"http: unexpected EOF reading trailer":                                                              CodeRead,
		"readLoopPeekFailLocked: a":                                                                         CodeRead,
		"net/http: server response headers exceeded 1 bytes; aborted":                                       CodeProtocol,
		"http2: response header list larger than advertised limit":                                          CodeProtocol,
		"net/http: too many 1xx informational responses":                                                    CodeProtocol,
		"connection error: PROTOCOL_ERROR":                                                                  CodeProtocol,
		"http2: frame too large":                                                                            CodeProtocol,
		"http: server closed idle connection":                                                               CodeRead,
		"http2: Transport received GOAWAY from server ErrCode:NO_ERROR":                                     CodeRead,
		"http2: client connection lost":                                                                     CodeRead,
		"http2: client conn not usable":                                                                     CodeRead,
	} {
		assert.Equal(t, want, classify(PhaseHeader, textError(text)), text)
	}
}

type textError string

func (e textError) Error() string { return string(e) }
