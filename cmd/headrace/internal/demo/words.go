// Package demo makes the requests of `headrace demo`, and checks that each has the right answer.
package demo

import (
	"bufio"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
	"unicode"

	"github.com/headrace/headrace/providertest"
)

// texts are six texts in the public domain. The first line of each is its title.
//
//go:embed text/*.txt
var texts embed.FS

// Question is one request: which part of speech a word is.
type Question struct {
	ID     string // custom_id
	Prompt string
}

// Questions returns one question for each word of the texts.
func Questions() iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		files, err := texts.ReadDir("text")
		if err != nil {
			yield(Question{}, err)
			return
		}
		for _, file := range files {
			whole, err := texts.ReadFile(path.Join("text", file.Name()))
			if err != nil {
				yield(Question{}, err)
				return
			}
			if !words(strings.TrimSuffix(file.Name(), ".txt"), string(whole), yield) {
				return
			}
		}
	}
}

// words yields the questions of one text, and reports whether to continue.
func words(name, whole string, yield func(Question, error) bool) bool {
	title, body, _ := strings.Cut(whole, "\n")
	n := 0
	for paragraph := range strings.SplitSeq(body, "\n\n") {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		for _, word := range strings.FieldsFunc(paragraph, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			if word = strings.Trim(word, "'"); word == "" {
				continue
			}
			n++
			q := Question{
				ID:     fmt.Sprintf("%s-%03d-%s", name, n, strings.ToLower(word)),
				Prompt: fmt.Sprintf("Word %d of %s is %q. Which part of speech is it here?\n\n%s\n\n%s", n, name, word, title, paragraph),
			}
			if !yield(q, nil) {
				return false
			}
		}
	}
	return true
}

// Write writes n requests in the format of OpenAI's Batch input, or all if there are fewer. It
// returns the expected answer of each.
func Write(to io.Writer, n int) (answers map[string]string, err error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	answers = map[string]string{}
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	for q, err := range Questions() {
		if err != nil {
			return nil, err
		}
		if len(answers) == n {
			break
		}
		err := lines.Encode(map[string]any{
			"custom_id": q.ID, "method": "POST", "url": "/v1/chat/completions",
			"body": map[string]any{"model": "demo", "max_tokens": 50, "messages": []message{{"user", q.Prompt}}},
		})
		if err != nil {
			return nil, err
		}
		answers[q.ID] = providertest.Extract(providertest.Request{Messages: []providertest.Message{{Role: "user", Content: q.Prompt}}})
	}
	return answers, out.Flush()
}
