package run

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
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
	if j.scan, err = requests.Of(ctx, in, j.Lines, j.Dialect); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, usagef("%s: %w", j.Requests, err)
	}
	j.takeModel()
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

// takeModel replaces the preset of a tier with the row of the model that all requests use.
func (j *Job) takeModel() {
	if len(j.scan.Models) != 1 || strings.Count(string(j.Spec.Preset), "/") != 1 {
		return
	}
	if row, err := j.Spec.Preset.ForModel(j.scan.Models[0]); err == nil {
		j.Spec.Preset = row.ID
	}
}
