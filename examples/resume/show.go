package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/headrace/headrace/providertest"
)

// shown is how many texts the story is about.
const shown = 200

// show stops the work halfway, has it begin again, and tells by the provider's
// own ledger what was paid for.
func show(ctx context.Context, s settings, c *client, provider *providertest.Server, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "headrace-resume")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s.in, s.out, s.journal = filepath.Join(folder, "texts.jsonl"), filepath.Join(folder, s.out), filepath.Join(folder, s.journal)
	if err := writeTexts(s.in, shown); err != nil {
		return err
	}

	half, stop := context.WithCancel(ctx)
	defer stop()
	first, calls := newWork(s, c), atomic.Int64{}
	first.ask = func(ctx context.Context, t Text) (string, error) {
		if calls.Add(1) == shown/2 {
			stop() // as Ctrl-C does
		}
		return c.summarise(ctx, t)
	}
	if err := first.do(half); ctx.Err() != nil || !errors.Is(err, context.Canceled) {
		return err
	}
	paid := provider.Counts().Served
	fmt.Fprintf(out, "first process:  %3d of %d texts done by %d calls, then it was stopped\n", first.counts.Done, shown, paid)

	second := newWork(s, c) // it has nothing of the first one but the files
	if err := second.do(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "second process: %3d texts resumed without a call, %d done by %d calls\n",
		second.counts.Resumed, second.counts.Done, provider.Counts().Served-paid)
	return audit(out, s, provider.Ledger())
}

// audit joins the texts with what the provider has served, and with the results.
func audit(out io.Writer, s settings, ledger providertest.Ledger) error {
	var ids []string
	for t, err := range readTexts(s.in) {
		if err != nil {
			return err
		}
		ids = append(ids, t.ID)
	}
	results, err := os.ReadFile(s.out)
	if err != nil {
		return err
	}
	found := ledger.Audit(slices.Values(ids))
	lines := bytes.Count(results, []byte("\n"))
	fmt.Fprintf(out, "provider's ledger: %d calls served; %d texts lost, %d paid twice\n", ledger.Served, len(found.Lost), len(found.Twice))
	fmt.Fprintf(out, "%s: %d lines, such as\n  %s\n", filepath.Base(s.out), lines, results[:bytes.IndexByte(results, '\n')])
	if !found.OK() || lines != len(ids) {
		return fmt.Errorf("of %d texts %d are lost, %d paid twice, %d written", len(ids), len(found.Lost), len(found.Twice), lines)
	}
	return nil
}
