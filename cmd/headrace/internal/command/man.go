package command

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type manCommand struct{}

// Help describes how to read and install the page.
func (*manCommand) Help() string {
	return `Examples:
  headrace man | man -l -
  headrace man > /usr/local/share/man/man1/headrace.1`
}

// Run is called by kong.
func (*manCommand) Run(p *Program, c *kong.Context) error {
	_, err := p.Stdout.Write(manual(c.Model))
	return err
}

// manual is the manual page of all commands, in the macros of man(7).
func manual(app *kong.Application) []byte {
	var m page
	m.macro("TH", strings.ToUpper(app.Name), "1", "", app.Name+" "+version(), "User Commands")
	m.macro("SH", "NAME")
	m.text(app.Name + ` \- call rate-limited APIs as fast as their limits allow`)
	m.macro("SH", "SYNOPSIS")
	m.macro("B", app.Name)
	m.text(`\fICOMMAND\fR [\fIFLAGS\fR] [\fIARGUMENTS\fR]`)
	m.macro("SH", "DESCRIPTION")
	m.prose(app.Help)
	m.macro("SH", "COMMANDS")
	for _, command := range app.Children {
		m.command(command)
	}
	m.macro("SH", "OPTIONS OF ALL COMMANDS")
	m.flags(app.Flags)
	return m.Bytes()
}

// page is the source of a manual page.
type page struct{ bytes.Buffer }

// macro writes a line with a macro and its arguments.
func (m *page) macro(name string, args ...string) {
	fmt.Fprintf(m, ".%s", name)
	for _, arg := range args {
		fmt.Fprintf(m, ` "%s"`, strings.ReplaceAll(verbatim(arg), `"`, `\(dq`))
	}
	fmt.Fprintln(m)
}

// text writes a line that is already in the markup of the page.
func (m *page) text(line string) { fmt.Fprintln(m, line) }

// prose writes paragraphs from --help. Indented lines are kept as they are.
func (m *page) prose(text string) {
	indented := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if now := strings.HasPrefix(line, "  "); now != indented {
			m.macro(map[bool]string{true: "EX", false: "EE"}[now])
			indented = now
		}
		if line == "" {
			m.macro("PP")
		} else {
			m.text(verbatim(line))
		}
	}
	if indented {
		m.macro("EE")
	}
}

func (m *page) command(n *kong.Node) {
	if n.Hidden {
		return
	}
	m.macro("SS", n.FullPath())
	m.prose(n.Help)
	if n.Detail != "" {
		m.macro("PP")
		detail, _, _ := strings.Cut(n.Detail, exits) // the page describes it once, for all commands
		m.prose(detail)
	}
	for _, arg := range n.Positional {
		m.macro("TP")
		m.text(`\fI` + verbatim(strings.ToUpper(arg.Name)) + `\fR`)
		m.prose(arg.Help)
	}
	m.flags(n.Flags)
	for _, child := range n.Children {
		m.command(child)
	}
}

func (m *page) flags(all []*kong.Flag) {
	for _, flag := range all {
		if flag.Hidden {
			continue
		}
		m.macro("TP")
		name := `\fB` + verbatim("--"+flag.Name) + `\fR`
		if flag.Short != 0 {
			name = fmt.Sprintf(`\fB\-%c\fR, %s`, flag.Short, name)
		}
		if !flag.IsBool() {
			name += `=\fI` + verbatim(flag.FormatPlaceHolder()) + `\fR`
		}
		m.text(name)
		m.prose(flag.Help)
	}
}

// verbatim escapes text so that it appears unchanged: a dash can be copied, and a line that begins with a dot or a
// quote is not taken for a macro.
func verbatim(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
