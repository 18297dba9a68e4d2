// Package tutorial has what the programs of docs/tutorial.md share: some texts,
// and what they need of a model.
package tutorial

import (
	"context"
	"embed"
	"io/fs"
	"strings"
)

// Model is a language model. Package fake has one that needs no key, package
// openai the real one.
type Model interface {
	// Ask has the model do a task on a text. It makes one call and does not retry.
	Ask(ctx context.Context, task, text string) (string, error)
	Close()
}

// Text is the beginning of a book or a speech.
type Text struct{ Title, Body string }

//go:embed text/*.txt
var files embed.FS

// Texts are in the public domain: six of three paragraphs each.
func Texts() (texts []Text) {
	names, err := fs.Glob(files, "text/*.txt")
	if err != nil {
		panic(err) // of a pattern that is constant
	}
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			panic(err) // of a file that was embedded
		}
		title, body, _ := strings.Cut(string(content), "\n\n")
		title, _, _ = strings.Cut(title, ",")
		texts = append(texts, Text{Title: title, Body: strings.TrimSpace(body)})
	}
	return texts
}
