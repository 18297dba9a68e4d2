package guide

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A Step is a block of commands.
type Step struct {
	Line   int      // of its fence, from 1
	Lines  []string // the commands, as they are printed
	Given  string   // the command that provides what a reader has and a clone has not: a key, a file
	NotRun string   // why it cannot run unattended
	Want   []Block  // what the page says that it prints
}

// Steps lists the commands of a page, in the order in which they are run. The
// error joins everything that prevents running them: a prompt, a command that is
// indented and not fenced, a mark that belongs to nothing.
func Steps(page string) (steps []Step, err error) {
	var errs []error
	badf := func(line int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...)))
	}
	marks := 0
	for _, b := range Blocks(page) {
		if b.Mark != "" {
			marks++
		}
		commands := b.Lang == "sh"
		switch {
		case (b.Mark == "given" || b.Mark == "not run") && !commands:
			badf(b.Line, "%q is for a block of sh", b.Mark)
		case (b.Mark == "given" || b.Mark == "not run") && b.Text == "":
			badf(b.Line, "%q says not what", b.Mark)
		case b.Mark == "output" && (commands || len(steps) == 0 || steps[len(steps)-1].NotRun != ""):
			badf(b.Line, "it is the output of no commands that run")
		case b.Mark == "output":
			last := &steps[len(steps)-1]
			last.Want = append(last.Want, b)
		}
		if !commands {
			if isShell(b.Lang) {
				badf(b.Line, "commands are in a block of sh, not of %s", b.Lang)
			}
			continue
		}
		s := Step{Line: b.Line, Lines: b.Lines}
		switch b.Mark {
		case "given":
			s.Given = b.Text
		case "not run":
			s.NotRun = b.Text
		}
		for i, line := range b.Lines {
			if strings.HasPrefix(line, "$ ") || strings.TrimSpace(line) == gap {
				badf(b.Line+1+i, "%q cannot be typed", line)
			}
		}
		steps = append(steps, s)
	}
	if n := len(regexp.MustCompile(`(?m)^\s*<!-- *(from|given|not run|output)\b`).FindAllString(page, -1)); n != marks {
		badf(1, "%d comments are marks, and %d stand on the line before a block, as <!-- not run: needs a key --> does", n, marks)
	}
	for _, line := range indented(page) {
		badf(line, "a block is fenced, not indented: commands by ```sh, the rest by ```text")
	}
	return steps, errors.Join(errs...)
}

func isShell(lang string) bool {
	switch lang {
	case "bash", "shell", "console", "shell-session", "zsh":
		return true
	default:
		return false
	}
}

// indented lists the lines where a block begins that is indented by four spaces or a tab.
func indented(page string) (lines []int) {
	open, blank, list := false, true, false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			open = !open
		}
		deep := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case open, line == "":
		case deep && blank && !list:
			lines = append(lines, i+1)
		case !strings.HasPrefix(line, " "):
			list = regexp.MustCompile(`^([-*+]|\d+\.) `).MatchString(line)
		}
		blank = line == ""
	}
	return lines
}
