package run

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
	"github.com/headrace/headrace/throttle"
)

// Scan reads the requests once, if the file can be read twice, and selects the preset of their model.
func (j *Job) Scan(ctx context.Context) (*requests.Scan, error) {
	if !requests.Rereadable(j.Requests) {
		if _, err := os.Stat(j.Requests); err != nil && j.Requests != requests.Stdin {
			return nil, usagef("the requests cannot be read: %w", err)
		}
		if info, err := os.Stat(j.Requests); err == nil && info.IsDir() {
			return nil, usagef("the requests cannot be read: %w", requests.FolderError(j.Requests))
		}
		return nil, nil
	}
	in, err := requests.Open(j.Requests, nil)
	if err != nil {
		return nil, usagef("the requests cannot be read: %w", err)
	}
	defer func() { _ = in.Close() }()
	j.scanned, _ = os.Stat(j.Requests) // without it, changes are not noticed
	j.scan, err = requests.Of(ctx, j.read(in), j.Lines, j.Dialect, j.exceeds)
	if err == nil && j.DryRun && j.scan.Repeats() {
		err = j.reweigh(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, usagef("%s: %w", j.Requests, err)
	}
	j.takeModel()
	j.sayFewer()
	for _, p := range j.scan.Problems {
		j.say(fmt.Sprintf("%s:%d: %s", j.Requests, p.Line, p.Text))
	}
	if more := j.scan.Bad - int64(len(j.scan.Problems)); more > 0 {
		j.say(fmt.Sprintf("and %d more invalid lines", more))
	}
	if j.Strict && j.scan.Bad > 0 {
		return nil, usagef("%d of %d lines are invalid: with --strict, nothing was sent", j.scan.Bad, j.scan.Lines)
	}
	return j.scan, nil
}

// reweigh has an estimate leave out lines that are not sent because they repeat an ID.
func (j *Job) reweigh(ctx context.Context) error {
	in, err := requests.Open(j.Requests, nil)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return j.scan.Reweigh(ctx, j.read(in), j.Dialect, j.exceeds)
}

// read yields the requests of in. Those for another host are marked as bad.
func (j *Job) read(in io.Reader) iter.Seq2[requests.Request, error] {
	return func(yield func(requests.Request, error) bool) {
		for q, err := range requests.Read(in, j.Lines) {
			if err == nil && q.Bad == "" {
				q.Bad = elsewhere(j.Base, q.URL)
			}
			if !yield(q, err) {
				return
			}
		}
	}
}

// exceeds is tooLarge under the limits that are set by flags. Those of a preset may be exceeded, unless they turn out to be hard.
func (j *Job) exceeds(cost throttle.Cost) string { return tooLarge(j.Spec.Limits.Windows, cost) }

// tooLarge returns why a request of that cost is never admitted by the windows, or an empty text.
func tooLarge(hard []throttle.Window, cost throttle.Cost) string {
	for _, w := range hard {
		if n := cost.Of(w.Unit()); n > w.Max() {
			return results.Exceeds(n, w.Unit(), "of "+w.String(), w.Max())
		}
	}
	return ""
}

// elsewhere returns why the URL of a line must not be called, or an empty text if it may be: the key is meant for the host of base.
func elsewhere(base *url.URL, path string) string {
	if strings.HasPrefix(path, "/") {
		return ""
	}
	u, err := url.Parse(path)
	if err != nil || u.Scheme != base.Scheme || !strings.EqualFold(u.Host, base.Host) {
		return "url has another host than --base-url, " + base.Host + ": use only the path"
	}
	if u.User != nil {
		return "url holds a user or a password: use --api-key-env for the key"
	}
	return ""
}

// takeModel replaces the preset of a tier with the row of the model that all requests use.
func (j *Job) takeModel() {
	if len(j.scan.Models) != 1 || strings.Count(string(j.Spec.Preset), "/") != 1 {
		return
	}
	if row, err := j.Spec.Preset.ForModel(j.scan.Models[0]); err == nil {
		j.Spec.Preset = row.ID
	}
}
