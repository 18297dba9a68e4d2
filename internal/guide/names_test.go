package guide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names are what the packages of the repository have: "node.Batch",
// "node.Batch.WithSink", and "node" itself. Tests are among them.
type names map[string]bool

// ours reads all packages. Those that share a name share an entry.
func ours(t *testing.T) names {
	t.Helper()
	all := names{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "simulate" || d.Name() != ".." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil && file.Name.Name != "main" {
			all.add(file)
		}
		return err
	}))
	return all
}

func (n names) add(file *ast.File) {
	pkg := strings.TrimSuffix(file.Name.Name, "_test")
	n[pkg] = true
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				name = receiver(decl.Recv.List[0].Type) + "." + name
			}
			n[pkg+"."+name] = true
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					n.member(pkg+"."+spec.Name.Name, spec.Type)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						n[pkg+"."+name.Name] = true
					}
				}
			}
		}
	}
}

// member adds a type or a field, and what is inside of it.
func (n names) member(name string, of ast.Expr) {
	n[name] = true
	var inside *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		inside = of.Fields
	case *ast.InterfaceType:
		inside = of.Methods
	default:
		return
	}
	for _, field := range inside.List {
		for _, id := range field.Names {
			n[name+"."+id.Name] = true
		}
	}
}

func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	default:
		return ""
	}
}

// missing lists the names of a text in backticks that are not there: those of our
// packages, and options, which are called With and a name wherever they belong.
func (n names) missing(text string) (all []string) {
	qualified := regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	option := regexp.MustCompile(`(?:^|[^.\w])(With[A-Z]\w*)`)
	for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(text, -1) {
		for _, found := range qualified.FindAllStringSubmatch(code, -1) {
			name := found[1] + "." + found[2]
			if n[found[1]] && !n[name] {
				all = append(all, name)
			} else if inner := name + "." + found[3]; n[name] && found[3] != "" && !n[inner] {
				all = append(all, inner)
			}
		}
		for _, found := range option.FindAllStringSubmatch(code, -1) {
			if !n.option(found[1]) {
				all = append(all, found[1])
			}
		}
	}
	return all
}

// option reports whether the name is a function or a method of ours, or an option of an
// SDK that the guides speak of.
func (n names) option(name string) bool {
	if name == "WithMaxRetries" || name == "WithRequestTimeout" {
		return true
	}
	for known := range n {
		if strings.HasSuffix(known, "."+name) {
			return true
		}
	}
	return false
}

func TestNamesInTheGuidesAreThere(t *testing.T) {
	all := ours(t)
	for page, text := range pages(t) {
		assert.Empty(t, all.missing(prose(text)), "%s names what is not there", page)
	}
}

func TestMissing(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package pond_test
type Gate[T any] struct{ Width int }
type Keeper interface { Open() }
func (g *Gate[T]) WithGuard() {}
func New() {}
const Deep = 1`, 0)
	require.NoError(t, err)
	all := names{}
	all.add(file)
	for text, want := range map[string][]string{
		"`pond.New(x)`, `pond.Gate{}`, `pond.Gate.Width`, `*pond.Gate`":          nil,
		"`pond.Keeper.Open`, `pond.Deep`, `pond.Gate.WithGuard`, `WithGuard(1)`": nil,
		"`pond.Old(x)` and `pond.Gate.Height`":                                   {"pond.Old", "pond.Gate.Height"},
		"`WithGuards(1)` beside `river.New`":                                     {"WithGuards"},
		"pond.Old and WithGuards, which are no code":                             nil,
	} {
		assert.Equal(t, want, all.missing(text), text)
	}
}
