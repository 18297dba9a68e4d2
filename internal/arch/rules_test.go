package arch

import (
	"fmt"
	"slices"
	"strings"
)

// pkg is one package of the core as `go list -json` tells it.
type pkg struct {
	ImportPath   string
	Imports      []string // by the package itself
	TestImports  []string // by its tests inside the package
	XTestImports []string // by its tests outside the package
}

// violations says what is wrong with the imports of packages, one line each,
// and is nil when the table is in order.
func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		from, ours := inCore(p.ImportPath)
		if !ours {
			found = append(found, p.ImportPath+" is not a package of "+module)
			continue
		}
		if _, placed := layerOf(from); !placed {
			found = append(found, name(from)+" has no layer: place it in internal/arch/layers_test.go and in .golangci.yml")
		}
		for _, imported := range p.Imports {
			if problem := wrongImport(from, imported); problem != "" {
				found = append(found, problem)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if _, ours := inCore(imported); ours || isStandard(imported) ||
				matchesAny(imported, dependencies) || matchesAny(imported, testDependencies) {
				continue
			}
			found = append(found, fmt.Sprintf("the tests of %s import %s, which is on no list of dependencies", name(from), imported))
		}
	}
	return found
}

// wrongImport says why the package from, which is ours, may not import
// imported; it is empty when it may.
func wrongImport(from, imported string) string {
	to, ours := inCore(imported)
	switch {
	case ours:
		return wrongArrow(from, to)
	case isStandard(imported), matchesAny(imported, dependencies):
		return ""
	case matchesAny(imported, testDependencies):
		return fmt.Sprintf("%s imports %s, which is for tests only", name(from), imported)
	default:
		return fmt.Sprintf("%s imports %s, which is on no list of dependencies", name(from), imported)
	}
}

// wrongArrow judges an import between two packages of ours.
func wrongArrow(from, to string) string {
	if slices.Contains(leaves, from) {
		return fmt.Sprintf("%s imports %s, and a leaf imports nothing of ours", name(from), name(to))
	}
	high, placed := layerOf(from)
	if !placed {
		return "" // said once, of the package
	}
	low, placed := layerOf(to)
	switch {
	case !placed:
		return fmt.Sprintf("%s (F%d) imports %s, which stands on no layer of the core", name(from), high, name(to))
	case low > high:
		return fmt.Sprintf("%s (F%d) imports %s (F%d): the arrow climbs", name(from), high, name(to), low)
	case low == high && !isLevel(from, to):
		return fmt.Sprintf("%s (F%d) imports %s (F%d): the arrow stays on its layer", name(from), high, name(to), low)
	default:
		return ""
	}
}

func layerOf(rel string) (layer int, placed bool) {
	i := slices.IndexFunc(table, func(p place) bool { return matches(rel, p.pattern) })
	if i < 0 {
		return 0, false
	}
	return table[i].layer, true
}

func isLevel(from, to string) bool {
	return slices.ContainsFunc(level, func(a arrow) bool { return matches(from, a.from) && matches(to, a.to) })
}

// inCore returns a path relative to the core's module.
func inCore(path string) (rel string, ours bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// isStandard tells the standard library by the first element of its paths,
// which is the only kind without a dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func matches(path, pattern string) bool {
	tree, whole := strings.CutSuffix(pattern, "/...")
	return path == tree || whole && strings.HasPrefix(path, tree+"/")
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(path, pattern) })
}

// name is how a package of headrace is called in a message.
func name(rel string) string {
	if rel == "" {
		return "the root package"
	}
	return rel
}
