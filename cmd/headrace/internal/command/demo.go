package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/display"
	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/providertest"
)

// demoCommand is what `headrace run` does, against a provider in another process. It is a skeleton: the
// requests are made up, and the limit does not move on its way.
type demoCommand struct {
	Requests int    `default:"600" placeholder:"N" help:"How many requests are made. Default: ${default}."`
	Seed     uint64 `placeholder:"N" help:"What the provider's limit is drawn from. Default: the time."`
	Progress string `default:"auto" enum:"auto,tty,plain,json,off" placeholder:"HOW" help:"How progress is shown: auto, tty, plain, json or off. Default: ${default}."`
}

// Run is called by kong.
func (c *demoCommand) Run(ctx context.Context, p *Program) (err error) {
	if c.Requests < 1 {
		return &settings.Error{Flag: "--requests", Problem: fmt.Sprintf("%d is below 1", c.Requests)}
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	limit := 20 + rand.New(rand.NewPCG(c.Seed, 0)).IntN(41) //nolint:gosec // nothing secret is drawn
	folder, err := os.MkdirTemp("", "headrace-demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "requests.jsonl")
	if err := c.write(file); err != nil {
		return err
	}
	base, end, err := p.provider(ctx, limit)
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintln(p.Stdout, "a provider in another process allows some number of requests a second, and does not say which")
	s, err := settings.Resolve(settings.Flags{
		Requests: file, BaseURL: base, MaxAttempts: 5, MaxWait: time.Minute, Timeout: time.Minute, LogLevel: "error", Progress: c.Progress,
	}, func(string) string { return "" })
	if err != nil {
		return err
	}
	shown := display.New(c.Progress, p.Stderr)
	defer func() { _ = shown.Close() }()
	j := &run.Job{Run: s, Display: shown, Log: logger(s, shown.Writer()), Agent: "headrace/" + version()}
	if _, err := j.Scan(ctx); err != nil {
		return err
	}
	o, err := j.Do(ctx)
	if err != nil {
		return err
	}
	return c.tell(ctx, p, o, base, limit)
}

// write makes the requests.
func (c *demoCommand) write(path string) error {
	var all strings.Builder
	for i := range c.Requests {
		fmt.Fprintf(&all, `{"custom_id":"question-%d","method":"POST","url":"/v1/chat/completions","body":`+
			`{"model":"demo","messages":[{"role":"user","content":"What is %d times %d?"}]}}`+"\n", i+1, i%12+1, i/12%12+1)
	}
	return os.WriteFile(path, []byte(all.String()), 0o600)
}

// provider starts `headrace provider` as another process.
func (p *Program) provider(ctx context.Context, limit int) (base string, end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "provider", "--addr", "127.0.0.1:0", "--limit", fmt.Sprintf("bucket %d/s burst %d", limit, limit), "--faults", "0.02") //nolint:gosec // this program
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	said := bufio.NewScanner(out)
	said.Scan()
	_, base, ok := strings.Cut(strings.TrimSuffix(said.Text(), ")"), "base URL ")
	if !ok {
		end()
		return "", nil, errors.New("the provider did not start")
	}
	return base, end, nil
}

// tell compares what was done with what was possible.
func (c *demoCommand) tell(ctx context.Context, p *Program, o *run.Outcome, base string, limit int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/v1")+"/ledger", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var seen providertest.Counts
	if err := json.NewDecoder(resp.Body).Decode(&seen); err != nil {
		return err
	}
	possible := float64(limit) * o.Elapsed.Seconds()
	fmt.Fprintf(p.Stdout, "the limit was %d/s: %d answers in %s are %.0f %% of what was possible\n", limit, o.Done, o.Elapsed.Round(time.Second/10),
		100*min(1, float64(o.Done)/possible))
	fmt.Fprintf(p.Stdout, "%d requests were refused (429) and %d failed (500) on the way; %d of %d have their answer, %d lost\n",
		seen.Refused, seen.Faulted, o.Done, c.Requests, int64(c.Requests)-o.Done)
	if o.Done != int64(c.Requests) {
		return errFailed
	}
	return nil
}
