package yamldoc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Instead says which file may have been meant by a path that is not there.
func Instead(path string) string {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "the folder is not there either"
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(e.Name()))) {
			files = append(files, e.Name())
		}
	}
	if len(files) == 0 {
		return "there is no YAML file in " + dir
	}
	asked := filepath.Base(path)
	best := slices.MaxFunc(files, func(a, b string) int { return alike(asked, a) - alike(asked, b) })
	if 2*alike(asked, best) >= len(asked) {
		return "did you mean " + filepath.Join(dir, best) + "?"
	}
	const most = 5
	return "in " + dir + " there is " + strings.Join(files[:min(most, len(files))], ", ")
}

// alike is how many letters two names have in common at their beginnings and ends.
func alike(a, b string) (n int) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
		n++
	}
	return n
}
