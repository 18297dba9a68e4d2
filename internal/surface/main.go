// Command surface counts what users of the public packages have to read: the
// exported names, the With settings among them, and the words of go doc -all.
// Run it in the root of the repository: go run ./internal/surface.
package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	names, settings, words := 0, 0, 0
	out, err := exec.CommandContext(context.Background(), "go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "work").Output()
	if err != nil {
		fail(err)
	}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !public(path) {
			continue
		}
		n, s, err := count(dir)
		if err != nil {
			fail(err)
		}
		doc, err := exec.CommandContext(context.Background(), "go", "doc", "-all", path).Output() //nolint:gosec // a path of go list
		if err != nil {
			fail(fmt.Errorf("%s: %w", path, err))
		}
		w := len(strings.Fields(string(doc)))
		names, settings, words = names+n, settings+s, words+w
		row(path, n, s, w)
	}
	row("all", names, settings, words)
}

func row(path string, names, settings, words int) {
	if _, err := fmt.Fprintf(os.Stdout, "%-60s %6d names %4d With %7d words\n", path, names, settings, words); err != nil {
		fail(err)
	}
}

func fail(err error) {
	_, _ = fmt.Fprintln(os.Stderr, "surface:", err)
	os.Exit(1)
}

// public reports whether users import the package.
func public(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "internal", "examples", "benchmarks", "cmd":
			return false
		}
	}
	return true
}

// count returns the exported names of a package: constants, variables,
// functions, types, methods of exported types, and fields of exported structs.
func count(dir string) (names, settings int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, 0, err
	}
	add := func(name string) {
		if !ast.IsExported(name) {
			return
		}
		names++
		if strings.HasPrefix(name, "With") && name != "With" {
			settings++
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return 0, 0, err
		}
		for _, d := range f.Decls {
			declared(d, add)
		}
	}
	return names, settings, nil
}

// declared calls add with the names that d declares.
func declared(d ast.Decl, add func(name string)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
			add(d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add(n.Name)
				}
			case *ast.TypeSpec:
				add(s.Name.Name)
				if ast.IsExported(s.Name.Name) {
					members(s.Type, add)
				}
			}
		}
	}
}

// members calls add with the fields of a struct and the methods of an interface.
func members(t ast.Expr, add func(name string)) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			add(n.Name)
		}
	}
}

// receiver is the name of the type of a method.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}
