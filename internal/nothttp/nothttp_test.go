package nothttp_test

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/nothttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What net/http says in words is in the tests of httpclient, with real responses.
func TestIs(t *testing.T) {
	for _, err := range []error{
		textproto.ProtocolError("a"), flate.CorruptInputError(1), gzip.ErrHeader, gzip.ErrChecksum,
		errors.New("net/http: HTTP/1.x transport connection broken: malformed HTTP response"),
	} {
		assert.True(t, nothttp.Is(fmt.Errorf("wrapped: %w", err)), err)
	}
	for _, err := range []error{io.EOF, errors.New("http2: client connection lost")} {
		assert.False(t, nothttp.Is(err), err)
	}
}
