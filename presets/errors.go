package presets

import (
	"fmt"
	"strings"
)

// UnknownError is returned for a name that is not in the table.
type UnknownError struct {
	Name string
	Near []ID // similar names, the nearest first; may be empty
}

// Error suggests the nearest names.
func (e *UnknownError) Error() string {
	hint := "names are provider/tier/model or provider/tier; docs/presets.md and All list them"
	if len(e.Near) > 0 {
		near := make([]string, len(e.Near))
		for i, id := range e.Near {
			near[i] = string(id)
		}
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Sprintf("presets: unknown preset %q: %s", clip(e.Name), hint)
}

// UnavailableError is returned for a preset of KindUnavailable.
type UnavailableError struct {
	ID ID

	notes string
}

// Error implements error.
func (e *UnavailableError) Error() string {
	why := ""
	if e.notes != "" {
		why = " (" + e.notes + ")"
	}
	return fmt.Sprintf("presets: %s cannot be called%s: take another tier or model", e.ID, why)
}

// RowError is one problem of a table.
type RowError struct {
	Line    int    // in the JSON, from 1; 0 if the table was made in code
	Column  int    // in bytes, from 1
	Row     int    // in presets, from 1; 0 if not in a row
	ID      ID     // of the row, if it could be read
	Field   string // such as "rpm"; may be empty
	Problem string // what is wrong and what would be right
}

// Error implements error.
func (e *RowError) Error() string {
	var b strings.Builder
	b.WriteString("presets: ")
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d:%d: ", e.Line, e.Column)
	}
	if e.Row > 0 {
		fmt.Fprintf(&b, "row %d", e.Row)
		if e.ID != "" {
			fmt.Fprintf(&b, " (%s)", clip(string(e.ID)))
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(clip(e.Field) + ": ")
	}
	return b.String() + e.Problem
}

// clip keeps a hostile text out of a log.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
