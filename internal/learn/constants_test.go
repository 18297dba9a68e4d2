package learn

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the law may have. It may be lowered.
const (
	mostConstants = 60
	mostUses      = 201
)

// numbers are those that the law is tuned by. A constant is one that a declaration
// makes out of a literal, whatever it is. What it makes out of other constants counts
// too, unless it is one of them, a multiple by another one or by an identity, or what is
// missing from 1 or comes on top of it: by sums, everything could be made of anything. A
// number in a formula is bare, unless it is an identity: 0, 1, 2 or a half.
type numbers struct{ constants, bare []string }

func numbersOf(f *ast.File) (n numbers) {
	declared := map[*ast.BasicLit]bool{}
	ast.Inspect(f, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.GenDecl:
			if x.Tok == token.CONST {
				n.declare(x, declared)
			}
		case *ast.BasicLit:
			if isNumber(x) && !declared[x] && !identity(x) {
				n.bare = append(n.bare, f.Name.Name+": "+x.Value)
			}
		}
		return true
	})
	return n
}

// declare notes the constants that g makes, and the literals in it.
func (n *numbers) declare(g *ast.GenDecl, declared map[*ast.BasicLit]bool) {
	for _, s := range g.Specs {
		s := s.(*ast.ValueSpec)
		if counts(s) {
			continue
		}
		for i, v := range s.Values {
			_, alone := v.(*ast.BasicLit)
			made := false
			ast.Inspect(v, func(x ast.Node) bool {
				switch x := x.(type) {
				case *ast.BasicLit:
					if isNumber(x) && !declared[x] {
						declared[x] = true
						made = made || alone || !identity(x)
					}
				case *ast.BinaryExpr:
					if x.Op == token.ADD || x.Op == token.SUB {
						made = made || !isOne(x.X) && !isOne(x.Y)
					}
				}
				return true
			})
			if made {
				n.constants = append(n.constants, s.Names[i].Name)
			}
		}
	}
}

// counts reports whether s enumerates.
func counts(s *ast.ValueSpec) (enumerates bool) {
	for _, v := range s.Values {
		ast.Inspect(v, func(x ast.Node) bool {
			if name, ok := x.(*ast.Ident); ok && name.Name == "iota" {
				enumerates = true
			}
			return true
		})
	}
	return enumerates
}

func isOne(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == "1"
}

func isNumber(l *ast.BasicLit) bool { return l.Kind == token.INT || l.Kind == token.FLOAT }

func identity(l *ast.BasicLit) bool {
	v, err := strconv.ParseFloat(strings.ReplaceAll(l.Value, "_", ""), 64)
	return err == nil && slices.Contains([]float64{0, 0.5, 1, 2}, v)
}

func numbersOfTheLaw(t *testing.T) (all numbers) {
	t.Helper()
	for _, f := range parsed(t) {
		n := numbersOf(f)
		all.constants, all.bare = append(all.constants, n.constants...), append(all.bare, n.bare...)
	}
	slices.Sort(all.constants)
	slices.Sort(all.bare)
	return all
}

func parsed(t *testing.T) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(t, err)
			all[name] = f
		}
	}
	return all
}

// Each constant is one more that a maintainer has to hold in mind.
func TestTheLawHasFewConstants(t *testing.T) {
	n := numbersOfTheLaw(t)
	assert.Empty(t, n.bare, "name them in constants.go, or use what is there")
	assert.LessOrEqual(t, len(n.constants), mostConstants, "%v", n.constants)
	assert.LessOrEqual(t, usesOfTheLaw(t), mostUses, "names that stand for a value, and values in formulas")
}

// usesOfTheLaw is how many decisions could have a value of their own: names that are
// declared outside constants.go, and what is used in a formula under its name there.
func usesOfTheLaw(t *testing.T) (uses int) {
	t.Helper()
	shared := map[string]bool{}
	files := parsed(t)
	for _, name := range constantsOf(files["constants.go"]) {
		shared[name] = true
	}
	for name, f := range files {
		if name == "constants.go" {
			continue
		}
		uses += len(constantsOf(f))
		ast.Inspect(f, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.GenDecl:
				return x.Tok != token.CONST
			case *ast.Ident:
				if shared[x.Name] {
					uses++
				}
			}
			return true
		})
	}
	return uses
}

// constantsOf are the names of the numbers that f declares.
func constantsOf(f *ast.File) (names []string) {
	ast.Inspect(f, func(x ast.Node) bool {
		if g, ok := x.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				if s := spec.(*ast.ValueSpec); !counts(s) && len(s.Values) > 0 {
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
		return true
	})
	return names
}

func TestWhatCountsAsAConstant(t *testing.T) {
	const source = `package x
const (
	tuned   = 2
	derived = 2 * tuned
	other   = 3 * tuned
	missing = 1 - tuned/derived
	sum     = tuned + derived
)
const (
	first = iota
	second
)
func f(x float64) float64 {
	const inside = 7
	return 0.5*x*x + 1 - 0.25*derived
}
`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	require.NoError(t, err)
	n := numbersOf(f)
	assert.ElementsMatch(t, []string{"tuned", "other", "sum", "inside"}, n.constants)
	assert.Equal(t, []string{"x: 0.25"}, n.bare)
}
