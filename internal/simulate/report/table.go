package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is rows of cells under a head.
type Table struct {
	Head []string
	Rows [][]string
}

// Markdown writes t as Markdown with aligned columns.
func (t *Table) Markdown(w io.Writer) error {
	widths := t.widths()
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = strings.Repeat("-", widths[i])
	}
	var b strings.Builder
	for _, row := range append([][]string{t.Head, rule}, t.Rows...) {
		b.WriteString("|")
		for i, cell := range row {
			fmt.Fprintf(&b, " %s%s |", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// Plain writes t as lines for grep and diff, without its head's rule.
func (t *Table) Plain(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%s%s  ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
