package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
)

// child is a `headrace provider` that this process started. It exits with this process, however
// this process exits, because its standard input is closed then.
type child struct {
	base  string // URL
	cmd   *exec.Cmd
	stdin io.Closer
	said  bytes.Buffer  // on standard error
	gone  chan struct{} // closed when the process has exited
	err   error         // how it exited; valid after gone is closed
}

// provider starts a child on a free port, and returns when it listens.
func (p *Program) provider(ctx context.Context, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, &startError{err}
	}
	c := &child{gone: make(chan struct{})}
	c.cmd = exec.Command(self, append([]string{"provider", "--addr", "127.0.0.1:0", "--with-stdin"}, args...)...) //nolint:gosec,noctx // this program itself; it exits when its standard input is closed
	c.cmd.Stderr = &c.said
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HEADRACE_") { // signals are handled by this command
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.stdin, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, &startError{err}
	}
	stop := context.AfterFunc(ctx, func() { _ = c.stdin.Close() })
	line := bufio.NewScanner(out)
	line.Scan()
	go func() {
		defer close(c.gone)
		for line.Scan() { // read to the end, so that the child never blocks on a full pipe
		}
		c.err = c.cmd.Wait()
	}()
	var ok bool
	if _, c.base, ok = strings.Cut(line.Text(), "--base-url "); !ok || !stop() {
		c.end()
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, &startError{fmt.Errorf("%w: %s", cmp.Or(c.err, errProviderGone), lastWords(c.said.String()))}
	}
	return c, nil
}

// startError reports that the provider could not be started.
type startError struct{ err error }

func (e *startError) Error() string {
	return fmt.Sprintf("the provider (a second process of this program) did not start: %v", e.err)
}

func (e *startError) Unwrap() error { return e.err }

// lastWords is the first line that a process printed before it exited. The rest is left out, because a panic is long.
func lastWords(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return strings.TrimPrefix(line, "headrace: ")
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// end ends the child, by force if it takes longer.
func (c *child) end() {
	_ = c.stdin.Close()
	timer := time.AfterFunc(2*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	<-c.gone
}

// errProviderGone reports that the provider's process exited too early.
var errProviderGone = errors.New("the provider's process exited before the run was over")

var errByItself = errors.New("by itself")

// with returns a context that is also cancelled when the provider exits.
func (c *child) with(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		defer cancel(nil)
		select {
		case <-ctx.Done():
		case <-c.gone:
			cancel(c.lost())
		}
	}()
	return ctx
}

// lost returns the error for a provider that has exited.
func (c *child) lost() error {
	return fmt.Errorf("%w (%w): start the demo again", errProviderGone, cmp.Or(c.err, errByItself))
}

// unreachable returns the error for a provider that accepts no connections.
func (c *child) unreachable() error {
	select {
	case <-c.gone:
		return c.lost()
	default:
		return fmt.Errorf("the provider (process %d) cannot be reached: programs on this machine must be able to connect to 127.0.0.1", c.pid())
	}
}

// ledger fetches the provider's ledger.
func (c *child) ledger(ctx context.Context) (l provider.Ledger, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.base, "/v1")+"/_ledger?every=250ms", nil)
	if err != nil {
		return l, err
	}
	transport := &http.Transport{DisableKeepAlives: true} // without a proxy
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return l, fmt.Errorf("the provider's ledger cannot be read: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	err = json.NewDecoder(resp.Body).Decode(&l)
	return l, err
}
