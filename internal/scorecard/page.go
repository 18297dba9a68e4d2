package main

import (
	"fmt"
	"strings"
	"time"
)

const head = `# The reliability scorecard

Each row is a promise, with the tests that prove it and what they counted. A violation, a count that is missing, or a row whose tests did
not run fails the command. Written by ` + "`make scorecard`" + ` and not by hand, with the sizes for every change; ` + "`make scorecard FULL=1`" + ` takes those
before a release, which is hours. [scorecard.json](scorecard.json) has the same, with the commands of each row.

`

// page is docs/scorecard.md.
func (c *card) page() string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "Run of %s, commit %s, sizes %s, %s: %d rows passed, %d failed, %d skipped.\n\n",
		c.At.Format(time.DateOnly), c.Commit, c.Sizes, c.Machine, c.number(passed), c.number(failed), c.number(skipped))
	b.WriteString(c.table())
	c.mutants(&b)
	c.unproven(&b)
	return b.String()
}

func (m machine) String() string {
	return fmt.Sprintf("%d cores, %s/%s, %s", m.Cores, m.OS, m.Arch, m.Go)
}

// table has a line for each row.
func (c *card) table() string {
	var b strings.Builder
	b.WriteString("| row | what | verdict | counted | time |\n|---|---|---|---|---|\n")
	for i := range c.Rows {
		r := &c.Rows[i]
		counted := r.Counts.String()
		if r.Why != "" {
			counted = strings.TrimSpace(cell(r.Why) + " " + counted)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", r.ID, r.What, r.Verdict, counted, time.Duration(r.Seconds)*time.Second)
	}
	fmt.Fprintf(&b, "\nAll of it took %s.\n", time.Duration(c.seconds())*time.Second)
	return b.String()
}

func (c *card) mutants(b *strings.Builder) {
	b.WriteString("\n## Mutants\n\nFaults that are put into the code, one at a time, and that the tests of their row have to notice.\n\n" +
		"| row | fault | verdict | noticed as |\n|---|---|---|---|\n")
	for i := range c.Rows {
		for _, m := range c.Rows[i].Mutants {
			v := "caught"
			if m.Verdict != passed {
				v = "NOT CAUGHT"
			}
			fmt.Fprintf(b, "| %d | %s | %s | %s |\n", c.Rows[i].ID, m.Name, v, cell(m.By))
		}
	}
}

func (c *card) unproven(b *strings.Builder) {
	b.WriteString("\n## What the rows do not measure\n\n")
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Unproven != "" {
			fmt.Fprintf(b, "- Row %d: %s\n", r.ID, r.Unproven)
		}
	}
}

// cell is text for a cell of a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "|", "/")), " ")
	if len(text) > 160 {
		text = text[:157] + "..."
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}
