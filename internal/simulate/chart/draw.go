package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Draw plays seed 1 of s with c, a frame each second, and writes the picture
// into the folder dir, which is made if need be. It returns the file's path,
// which is made of both names.
func Draw(dir string, s *scenario.Scenario, c client.Contender) (path string, err error) {
	film, err := Record(s, c, 1, time.Second)
	if err != nil {
		return "", err
	}
	var picture bytes.Buffer
	if err := film.SVG(&picture); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // readable by all users
		return "", err
	}
	path = filepath.Join(dir, fileName(s.Name+" "+c.Name))
	return path, os.WriteFile(path, picture.Bytes(), 0o644) //nolint:gosec // readable by all users
}

// fileName is name in lower case, with a hyphen for whatever is no letter and no digit.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-") + ".svg"
}
