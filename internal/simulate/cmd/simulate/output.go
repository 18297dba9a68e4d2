package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/internal/simulate/chart"
	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/report"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// draw draws what p names into the folder dir and writes the names of the files.
func draw(p *report.Plan, dir string, w io.Writer) error {
	return p.Each(func(s *scenario.Scenario, c client.Contender) error {
		path, err := chart.Draw(dir, s, c)
		if err == nil {
			fmt.Fprintln(w, path)
		}
		return err
	})
}

// tables writes the tables of p to w or, if there is one, into a page.
func tables(p *report.Plan, page string, w io.Writer) error {
	if page == "" {
		return p.Write(w)
	}
	old, err := os.ReadFile(page) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	var got bytes.Buffer
	if _, err := report.Fill(old, nil); err != nil { // before minutes of work
		return err
	}
	fmt.Fprintf(&got, "%d seeds of each scenario that has a name.\n\n", p.Seeds)
	if err := p.Write(&got); err != nil {
		return err
	}
	filled, err := report.Fill(old, got.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(page, filled, 0o644) //nolint:gosec // a page readable by all users
}
