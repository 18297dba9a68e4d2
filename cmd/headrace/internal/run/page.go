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

// page serves the dashboard of the run, and returns nil if it is off. Draining interrupts the run.
func (j *Job) page(ctx context.Context, stop context.CancelCauseFunc) (*dashboard.Dashboard, error) {
	if j.Dashboard == "" {
		return nil, nil //nolint:nilnil // see above
	}
	d, err := dashboard.New(dashboard.Config{
		Title: "headrace run " + j.title(), Guards: []*guard.Guard{j.guard}, Token: j.Token, Log: j.Log,
		Drain: func(context.Context) error {
			stop(ErrInterrupted)
			return nil
		},
	})
	if err != nil {
		return nil, usagef("HEADRACE_TOKEN: %s", settings.Plain(err))
	}
	at, err := d.Listen(context.WithoutCancel(ctx), j.Dashboard) // it stays up while calls in flight finish
	if err != nil {
		d.Close()
		text := strings.TrimPrefix(settings.Plain(err), "dashboard: ")
		return nil, usagef("--dashboard: %s", strings.Replace(text, "set a token", "set a token in HEADRACE_TOKEN", 1))
	}
	j.say("dashboard: http://" + at.String())
	return d, nil
}

// title returns a short name of the requests.
func (j *Job) title() string {
	if j.Requests == requests.Stdin {
		return "requests"
	}
	return filepath.Base(j.Requests)
}
