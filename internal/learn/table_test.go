package learn

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
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

// constantsTable has a line for each constant that counts, with what is made of it.
func constantsTable(t *testing.T) string {
	t.Helper()
	files := parsed(t)
	uses := map[string][]string{}
	type line struct{ name, value, comment string }
	var lines []line
	counted := numbersOfTheLaw(t).constants
	for _, name := range sortedKeys(files) {
		for _, d := range files[name].Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				s := spec.(*ast.ValueSpec)
				if counts(s) || len(s.Values) == 0 {
					continue
				}
				if slices.Contains(counted, s.Names[0].Name) {
					lines = append(lines, line{s.Names[0].Name, source(t, name, s.Values[0]), strings.TrimSpace(s.Comment.Text())})
				}
				ast.Inspect(s.Values[0], func(x ast.Node) bool {
					if id, ok := x.(*ast.Ident); ok {
						uses[id.Name] = append(uses[id.Name], s.Names[0].Name)
					}
					return true
				})
			}
		}
	}
	var b strings.Builder
	b.WriteString("| constant | value | of which is made | unit, meaning or source |\n| --- | --- | --- | --- |\n")
	for _, l := range lines {
		var made []string
		for _, use := range slices.Compact(slices.Sorted(slices.Values(uses[l.name]))) {
			made = append(made, "`"+use+"`")
		}
		assert.NotEmpty(t, l.comment, "%s: a unit, and where it comes from", l.name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", l.name, l.value, strings.Join(made, ", "), l.comment)
	}
	fmt.Fprintf(&b, "\n%d constants, in %d uses.\n", len(lines), usesOfTheLaw(t))
	assert.Len(t, lines, len(counted))
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
