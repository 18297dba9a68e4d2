package learn

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var write = flag.Bool("write", false, "write the tables of docs/law.md instead of comparing them")

const lawPage = "../../docs/law.md"

// The tables of the page are those of the code.
func TestThePageOfTheLaw(t *testing.T) {
	page, err := os.ReadFile(lawPage)
	require.NoError(t, err)
	want := string(page)
	for name, table := range map[string]string{"constants": constantsTable(t), "rules": rulesList(t)} {
		from, to := fmt.Sprintf("<!-- %s: written by `go test ./internal/learn -run ThePage -write` -->\n\n", name), fmt.Sprintf("\n<!-- end of %s -->", name)
		before, rest, found := strings.Cut(want, from)
		require.True(t, found, name)
		_, after, found := strings.Cut(rest, to)
		require.True(t, found, name)
		want = before + from + table + to + after
	}
	if *write {
		require.NoError(t, os.WriteFile(lawPage, []byte(want), 0o600))
		return
	}
	assert.Equal(t, want, string(page), "go test ./internal/learn -run ThePage -write")
}

// The types that the page names beside its estimates are in files of their names.
func TestThePageNamesTypes(t *testing.T) {
	page, err := os.ReadFile(lawPage)
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| \*\*[^|]*\(([^|)]*)\) \|`).FindAllStringSubmatch(string(page), -1)
	assert.Len(t, rows, 10)
	for _, row := range rows {
		for name := range strings.SplitSeq(row[1], ", ") {
			name = strings.Trim(name, "`")
			file := parsed(t)[strings.ToLower(name)+".go"]
			require.NotNil(t, file, name)
			assert.NotNil(t, file.Scope.Lookup(name), name)
		}
	}
}

// rulesList numbers the rules, with what their comments say.
func rulesList(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	names := slices.Collect(func(yield func(string) bool) {
		for name := range AllRules() {
			if !yield(name) {
				return
			}
		}
	})
	i := 0
	for _, s := range parsed(t)["rules.go"].Decls {
		g, ok := s.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			fmt.Fprintf(&b, "%d. **%s**: %s", i+1, names[i], spec.(*ast.ValueSpec).Comment.Text())
			i++
		}
	}
	require.Len(t, names, i)
	assert.LessOrEqual(t, i, 14)
	return b.String()
}

// constantsTable has a line for each constant that counts.
func constantsTable(t *testing.T) string {
	t.Helper()
	files := parsed(t)
	counted := numbersOf(files).constants
	var b strings.Builder
	b.WriteString("| constant | value | file | what it is, its unit, and what set it where that is known |\n| --- | --- | --- | --- |\n")
	lines := 0
	for _, name := range sortedKeys(files) {
		ast.Inspect(files[name], func(x ast.Node) bool {
			g, ok := x.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				return true
			}
			for _, spec := range g.Specs {
				s := spec.(*ast.ValueSpec)
				if len(s.Names) == 0 || !slices.Contains(counted, s.Names[0].Name) {
					continue
				}
				lines++
				comment := strings.TrimSpace(s.Comment.Text())
				if _, from, ok := strings.Cut(g.Doc.Text(), "Source of these: "); ok {
					comment += "; " + strings.TrimSuffix(strings.Join(strings.Fields(from), " "), " in internal/simulate.")
				}
				assert.NotEmpty(t, s.Comment.Text(), "%s: what it is, and its unit", s.Names[0].Name)
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Names[0].Name, source(t, name, s.Values[0]), strings.TrimSuffix(name, ".go"), comment)
			}
			return false
		})
	}
	fmt.Fprintf(&b, "\n%d constants. The goal is %d.\n", lines, goal)
	assert.Len(t, counted, lines)
	return b.String()
}

func sortedKeys(files map[string]*ast.File) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // what is shared comes first
		if (a == "constants.go") != (b == "constants.go") {
			if a == "constants.go" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// source is the text of an expression.
func source(t *testing.T, name string, e ast.Expr) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text[e.Pos()-1 : e.End()-1])
}
