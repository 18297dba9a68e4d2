package openfiles_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/openfiles"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rude panics when it is asked about itself.
type rude struct{}

func (rude) Error() string { return "rude" }

func (rude) Is(error) bool { panic("rude") }

func TestExhausted(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}, true},
		{fmt.Errorf("the machine: %w", syscall.ENFILE), true},
		{&net.DNSError{Err: "dial udp 127.0.0.53:53: socket: too many open files", Name: "localhost"}, true},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, false},
		{errors.New("too many open files, says another program"), false},
		{syscall.ECONNREFUSED, false},
		{rude{}, false},
		{nil, false},
	} {
		assert.Equal(t, c.want, openfiles.Exhausted(c.err), "%v", c.err)
	}
}
