package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
)

// Text is one line of the input.
type Text struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// maxLine bounds a line of the input, in bytes.
const maxLine = 1 << 20

// readTexts reads a line at a time: the file may be larger than memory. A line
// that is no text is an item that fails, and the others go on.
func readTexts(path string) iter.Seq2[Text, error] {
	return func(yield func(Text, error) bool) {
		file, err := os.Open(path) //nolint:gosec // the user names it
		if err != nil {
			yield(Text{}, err)
			return
		}
		defer func() { _ = file.Close() }()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			if t, err := parseText(lines.Bytes()); err != nil {
				err = fmt.Errorf("%s, line %d: %w", path, n, err)
				if !yield(t, err) {
					return
				}
			} else if !yield(t, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Text{}, fmt.Errorf("%s, line %d: %w", path, n+1, err))
		}
	}
}

func parseText(line []byte) (t Text, err error) {
	if err := json.Unmarshal(line, &t); err != nil {
		return t, err
	}
	if t.ID == "" || t.Text == "" {
		return t, errors.New("id or text is missing")
	}
	return t, nil
}

// writeTexts makes an input of n texts.
func writeTexts(path string, n int) error {
	file, err := os.Create(path) //nolint:gosec // in a folder of our own
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	lines := json.NewEncoder(out)
	for i := range n {
		t := Text{
			ID: fmt.Sprintf("report-%04d", i),
			Text: fmt.Sprintf("The wheel of mill %d turned for %d hours on day %d. The miller went home.",
				i%7+1, i%11+4, i/7+1),
		}
		if err = lines.Encode(t); err != nil {
			break
		}
	}
	return errors.Join(err, out.Flush(), file.Close())
}
