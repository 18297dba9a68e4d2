package run

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/dashboard"
	"github.com/headrace/headrace/guard"
)

// page serves the dashboard of the run; nil: none is wanted. To drain it is to interrupt the run.
func (j *Job) page(ctx context.Context, stop context.CancelCauseFunc) (*dashboard.Dashboard, error) {
	if j.Dashboard == "" {
		return nil, nil //nolint:nilnil // see above
	}
	d, err := dashboard.New(dashboard.Config{
		Title: "headrace run " + j.title(), Guards: []*guard.Guard{j.guard}, Token: j.Token,
		Drain: func(context.Context) error {
			stop(ErrInterrupted)
			return nil
		},
	})
	if err != nil {
		return nil, usagef("HEADRACE_TOKEN: %s", settings.Plain(err))
	}
	at, err := d.Listen(context.WithoutCancel(ctx), j.Dashboard) // it shows how calls in flight finish
	if err != nil {
		d.Close()
		return nil, usagef("--dashboard: %s", strings.TrimPrefix(settings.Plain(err), "dashboard: "))
	}
	j.say("live page: http://" + at.String())
	return d, nil
}

// title is the requests in short.
func (j *Job) title() string {
	if j.Requests == requests.Stdin {
		return "requests"
	}
	return filepath.Base(j.Requests)
}
