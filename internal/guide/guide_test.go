package guide

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the repository, seen from this folder.
const root = "../.."

// pages are the guides by their names, the page for contributors, and the README.
func pages(t *testing.T) map[string]string {
	t.Helper()
	return pagesOf(t, root)
}

func pagesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	all := map[string]string{}
	for _, name := range append(names, root+"/README.md", root+"/CONTRIBUTING.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all[strings.TrimPrefix(filepath.ToSlash(name), root+"/")] = string(text)
	}
	return all
}

func TestTheCodeOfTheGuidesIsTested(t *testing.T) {
	for page, text := range pages(t) {
		for _, b := range Blocks(text) {
			isGo := strings.HasPrefix(b.Lang, "go")
			if b.Lang == "diff" {
				isGo, b.Lines = true, after(b.Lines)
			}
			if b.Mark != "from" {
				assert.False(t, isGo, "%s:%d: no line <!-- from: FILE --> before the block says which tested file it is a piece of", page, b.Line)
				continue
			}
			assert.Equal(t, isGo, path.Ext(b.Text) == ".go", "%s:%d cannot be from %s", page, b.Line, b.Text)
			source, err := os.ReadFile(filepath.Join(root, b.Text))
			if assert.NoError(t, err, "%s:%d", page, b.Line) {
				assert.NoError(t, Quoted(strings.Split(string(source), "\n"), b.Lines), "%s:%d is not %s any more", page, b.Line, b.Text)
			}
		}
	}
}

// after returns the lines of a diff as they are with the change.
func after(diff []string) (lines []string) {
	for _, line := range diff {
		if !strings.HasPrefix(line, "-") {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "+"), " "))
		}
	}
	return lines
}

func TestAfter(t *testing.T) {
	require.Equal(t, []string{"a", "\tc"}, after([]string{" a", "-\tb", "+\tc"}))
}

// Blocks that are from no file and are not typed: what is printed, drawn, or read as JSON or as Python.
func TestBlocksOfOtherLanguages(t *testing.T) {
	python, noPython := exec.LookPath("python3")
	for page, text := range pages(t) {
		var script []string // the blocks of a page are one program
		for _, b := range Blocks(text) {
			if b.Mark == "from" {
				continue
			}
			code := strings.Join(b.Lines, "\n")
			switch b.Lang {
			case "sh", "text", "mermaid":
			case "json":
				assert.True(t, json.Valid([]byte(code)), "%s:%d is not JSON", page, b.Line)
			case "python":
				script = append(script, code)
			default:
				assert.Fail(t, "not held to anything", "%s:%d: a block of %q: say which tested file it is from, or that it is text", page, b.Line, b.Lang)
			}
		}
		if len(script) > 0 && noPython == nil {
			parse := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
			parse.Stdin = strings.NewReader(strings.Join(script, "\n"))
			said, err := parse.CombinedOutput()
			assert.NoError(t, err, "%s: %s", page, said)
		}
	}
}

func TestProgramsToRunAreThere(t *testing.T) {
	command := regexp.MustCompile(`(?:cd (\S+) && )?go run (\./[\w./-]+|\.)`)
	seen := 0
	for page, text := range pages(t) {
		for _, found := range command.FindAllStringSubmatch(text, -1) {
			if found[1] == "" && found[2] == "." {
				continue // goes on in a folder that was named before
			}
			seen++
			assert.FileExists(t, filepath.Join(root, found[1], found[2], "main.go"), "%s says %q", page, found[0])
		}
	}
	assert.GreaterOrEqual(t, seen, 11)
}

// A page ends the servers that it starts, so that their ports are free for the next one.
func TestServersAreEnded(t *testing.T) {
	start := regexp.MustCompile(`^headrace (?:provider|proxy|serve) .*&$`)
	seen := 0
	for page, text := range pages(t) {
		var lines []string
		for _, b := range Blocks(text) {
			if b.Lang == "sh" {
				lines = append(lines, b.Lines...)
			}
		}
		for i, line := range lines {
			if !start.MatchString(line) {
				continue
			}
			seen++
			name, isKept := "", false
			if i+1 < len(lines) {
				name, isKept = strings.CutSuffix(lines[i+1], "=$!")
			}
			ended := regexp.MustCompile(`(?m)^kill .*\$` + regexp.QuoteMeta(name) + `\b`)
			assert.True(t, isKept && ended.MatchString(strings.Join(lines[i:], "\n")), "%s does not end %s", page, line)
		}
	}
	assert.GreaterOrEqual(t, seen, 5)
}

func TestTargetsAreThere(t *testing.T) {
	makefile, err := os.ReadFile(root + "/Makefile")
	require.NoError(t, err)
	seen := 0
	for page, text := range pages(t) {
		for _, found := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(text, -1) {
			seen++
			assert.Regexp(t, `(?m)^`+found[1]+`:`, string(makefile), "%s says make %s", page, found[1])
		}
	}
	assert.GreaterOrEqual(t, seen, 20)
}

func TestEveryExampleSaysHowItIsRun(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"/examples/*/main.go", "/*/examples/*/main.go"} {
		programs, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		for _, program := range programs {
			text, err := os.ReadFile(program)
			require.NoError(t, err)
			comment, _, _ := strings.Cut(string(text), "\npackage main")
			folder, err := filepath.Rel(root, filepath.Dir(program))
			require.NoError(t, err)
			seen++
			assert.Regexp(t, `(?m)^//\t(go run \./|cd )`+regexp.QuoteMeta(filepath.ToSlash(folder))+`( |$)`, comment)
		}
	}
	assert.GreaterOrEqual(t, seen, 18)
}

func TestEveryExampleIsInTheIndex(t *testing.T) {
	index := pages(t)["docs/README.md"]
	programs, err := filepath.Glob(root + "/examples/*/main.go")
	require.NoError(t, err)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		folder := filepath.Base(filepath.Dir(program))
		assert.True(t, strings.Contains(index, "(../examples/"+folder+")"), "docs/README.md does not lead to examples/%s", folder)
	}
	for page := range pages(t) {
		if name := path.Base(page); path.Dir(page) == "docs" && name != "README.md" {
			assert.True(t, strings.Contains(index, "("+name), "docs/README.md does not lead to %s", name)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?(?: "[^"]*")?\)`)
	all := pages(t)
	decisions, err := filepath.Glob(root + "/docs/adr/*.md")
	require.NoError(t, err)
	for _, name := range append(decisions, root+"/CHANGELOG.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all[strings.TrimPrefix(filepath.ToSlash(name), root+"/")] = string(text)
	}
	seen := 0
	for page, text := range all {
		for _, found := range link.FindAllStringSubmatch(prose(text), -1) {
			to, anchor := found[1], found[2]
			seen++
			if strings.Contains(to, ":") {
				continue // of another site
			}
			target := page
			if to != "" {
				target = path.Join(path.Dir(page), to)
				_, err := os.Stat(filepath.Join(root, target))
				assert.NoError(t, err, "%s: %s", page, found[0])
			}
			if other, ok := all[target]; ok && anchor != "" {
				assert.Contains(t, anchors(other), anchor, "%s: %s", page, found[0])
			}
		}
	}
	assert.GreaterOrEqual(t, seen, 100)
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(page string) (all []string) {
	for line := range strings.Lines(prose(page)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			all = append(all, strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
					return unicode.ToLower(r)
				default:
					return -1
				}
			}, strings.TrimSpace(heading)))
		}
	}
	return all
}

func TestAnchors(t *testing.T) {
	require.Equal(t, []string{"when-its-done-is-it", "b"}, anchors("# When it's done, is it?\n\ntext # no\n```sh\n# no\n```\n## B\n"))
}
