package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

//go:embed text/*.txt
var bundled embed.FS

// text is one file to digest.
type text struct {
	Name string
	Body string
}

// readTexts reads the named files, or the bundled texts, which are in the public domain.
func readTexts(files []string) ([]text, error) {
	read := os.ReadFile
	if len(files) == 0 {
		read = bundled.ReadFile
		var err error
		if files, err = fs.Glob(bundled, "text/*.txt"); err != nil {
			return nil, err
		}
	}
	texts := make([]text, 0, len(files))
	var problems []error
	for _, name := range files {
		body, err := read(name)
		if err == nil {
			err = check(body)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		body = bytes.TrimPrefix(body, []byte("\ufeff"))
		texts = append(texts, text{Name: filepath.Base(name), Body: string(body)})
	}
	return texts, errors.Join(problems...)
}

func check(body []byte) error {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return errors.New("the file is empty")
	case !utf8.Valid(body) || bytes.ContainsRune(body, 0):
		return errors.New("not a text in UTF-8")
	default:
		return nil
	}
}

// paragraphs splits a text at its blank lines.
func paragraphs(body string) []string {
	var out []string
	for p := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// A passage ends with the first sentence that makes it long enough, or before
// the word that would make it too long.
const (
	passageBytes    = 160
	maxPassageBytes = 2000
)

// passages splits a paragraph at the ends of sentences.
func passages(paragraph string) []string {
	var out []string
	var p strings.Builder
	end := func() {
		if p.Len() > 0 {
			out = append(out, p.String())
			p.Reset()
		}
	}
	for word := range strings.FieldsSeq(paragraph) {
		if p.Len()+len(word) > maxPassageBytes {
			end()
		}
		if p.Len() > 0 {
			p.WriteByte(' ')
		}
		p.WriteString(word)
		if p.Len() >= passageBytes && strings.ContainsAny(word[len(word)-1:], ".?!") {
			end()
		}
	}
	end()
	return out
}
