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

// tuned is how many values the controller is tuned by. It may be lowered; the goal is 60.
const (
	tuned = 59
	goal  = 60
)

// Sizes of memory and units are tuned by nothing. A size has to be the length of an array.
var (
	sizes = []string{"crowdCalls", "fatesKept", "historyLevels", "historyPoints", "levelsKept", "unchargedKept"}
	units = []string{"minute", "hour", "day"}
)

// numbers are those that the controller is tuned by. Each constant is one, whatever its value,
// unless it is a size or a unit, enumerates, or is derived: another constant, a product or
// quotient of constants and identities, or what is missing from 1. By sums and bare
// factors, everything could be made of anything.
//
// A number in a formula is bare, unless it is an identity: 0, 1, 2 or a half. So is a
// unit that is no divisor: it is a tuned value that has no name.
type numbers struct{ constants, bare []string }

func numbersOf(files map[string]*ast.File) (n numbers) {
	constants := map[string]bool{}
	for _, f := range files {
		for _, name := range constantsOf(f) {
			constants[name] = !slices.Contains(units, name)
		}
	}
	for file, f := range files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				n.declared(g, constants)
				continue
			}
			ast.Inspect(d, func(x ast.Node) bool {
				switch x := x.(type) {
				case *ast.BinaryExpr:
					if name, ok := x.Y.(*ast.Ident); ok && x.Op == token.QUO && slices.Contains(units, name.Name) {
						ast.Inspect(x.X, func(y ast.Node) bool { return n.isBare(file, y) })
						return false
					}
				case *ast.GenDecl:
					if x.Tok == token.CONST {
						n.declared(x, constants)
						return false
					}
				}
				return n.isBare(file, x)
			})
		}
	}
	slices.Sort(n.constants)
	slices.Sort(n.bare)
	return n
}

// isBare notes x if it is a bare number. It returns true, to go on.
func (n *numbers) isBare(file string, x ast.Node) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		if isNumber(x) && !identity(x) {
			n.bare = append(n.bare, file+": "+x.Value)
		}
	case *ast.Ident:
		if slices.Contains(units, x.Name) {
			n.bare = append(n.bare, file+": "+x.Name)
		}
	}
	return true
}

// declared notes the constants that g makes.
func (n *numbers) declared(g *ast.GenDecl, constants map[string]bool) {
	for _, s := range g.Specs {
		s := s.(*ast.ValueSpec)
		if enumerates(s) {
			continue
		}
		for i, v := range s.Values {
			name := s.Names[i].Name
			if !slices.Contains(sizes, name) && !slices.Contains(units, name) && !derived(v, constants) {
				n.constants = append(n.constants, name)
			}
		}
	}
}

// derived reports whether e is made of other constants alone.
func derived(e ast.Expr, constants map[string]bool) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return constants[e.Name]
	case *ast.ParenExpr:
		return derived(e.X, constants)
	case *ast.BinaryExpr:
		x, y := derived(e.X, constants), derived(e.Y, constants)
		if e.Op == token.SUB {
			l, ok := e.X.(*ast.BasicLit)
			return y && ok && l.Value == "1"
		}
		if e.Op == token.MUL || e.Op == token.QUO {
			return x && y || x && isIdentity(e.Y) || y && isIdentity(e.X)
		}
	}
	return false
}

// enumerates reports whether s has no value of its own, or counts up.
func enumerates(s *ast.ValueSpec) (counts bool) {
	for _, v := range s.Values {
		ast.Inspect(v, func(x ast.Node) bool {
			if name, ok := x.(*ast.Ident); ok && name.Name == "iota" {
				counts = true
			}
			return true
		})
	}
	return counts || len(s.Values) == 0
}

func isNumber(l *ast.BasicLit) bool { return l.Kind == token.INT || l.Kind == token.FLOAT }

func isIdentity(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && identity(l)
}

func identity(l *ast.BasicLit) bool {
	v, err := strconv.ParseFloat(strings.ReplaceAll(l.Value, "_", ""), 64)
	return err == nil && slices.Contains([]float64{0, 0.5, 1, 2}, v)
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
func TestTheLawHasNoMoreConstants(t *testing.T) {
	n := numbersOf(parsed(t))
	assert.Empty(t, n.bare, "name them for what they do, in the file that they tune")
	assert.Len(t, n.constants, tuned, "lower the bound if there are fewer: %v", n.constants)
}

func TestSizesAreLengthsOfArrays(t *testing.T) {
	var lengths []string
	for _, f := range parsed(t) {
		ast.Inspect(f, func(x ast.Node) bool {
			if a, ok := x.(*ast.ArrayType); ok {
				if name, ok := a.Len.(*ast.Ident); ok {
					lengths = append(lengths, name.Name)
				}
			}
			return true
		})
	}
	assert.Subset(t, lengths, sizes)
}

// constantsOf are the names of the numbers that f declares.
func constantsOf(f *ast.File) (names []string) {
	ast.Inspect(f, func(x ast.Node) bool {
		if g, ok := x.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				if s := spec.(*ast.ValueSpec); !enumerates(s) {
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
	minute   = 60
	tuned    = 2
	half     = 0.5
	derived  = 2 * tuned * half
	quotient = 2.0 / tuned
	same     = tuned
	missing  = 1 - tuned/derived
	other    = 3 * tuned
	sum      = tuned + derived
	less     = 2 - tuned
	more     = 1 + tuned
	long     = minute
	longer   = 2 * minute
)
const (
	first = iota
	second
)
func f(x float64) float64 {
	const inside = 7
	return 0.5*x*x + 1 - 0.25*derived + x/minute + 3/minute + max(minute, 2)
}
`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	require.NoError(t, err)
	n := numbersOf(map[string]*ast.File{"x.go": f})
	assert.ElementsMatch(t, []string{"tuned", "half", "other", "sum", "less", "more", "long", "longer", "inside"}, n.constants)
	assert.ElementsMatch(t, []string{"x.go: 0.25", "x.go: 3", "x.go: minute"}, n.bare)
}
