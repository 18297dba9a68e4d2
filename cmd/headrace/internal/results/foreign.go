package results

import (
	"io"
	"os"
	"strings"
)

// The beginnings of lines of this package. In Anthropic's format, the custom_id is between the two parts.
const (
	beginOpenAI    = `{"id":"` + openAIID
	beginAnthropic = `{"custom_id":"`
	goOnAnthropic  = `","result":{"type":"`
)

// longestBegin bounds the beginning of a line, in bytes: each of the 512 bytes of a custom_id may be written
// as an escape of six bytes.
const longestBegin = 4096

// Foreign reports whether the file at path contains anything but lines of this package.
func Foreign(path string) bool { return !beginsWith(path, begins) }

// Gap reports whether the file at path begins with zeros in place of lines of this package, which another program has removed while the file
// was being written.
func Gap(path string) bool {
	return beginsWith(path, func(text string) bool {
		rest := strings.TrimLeft(text, "\x00")
		_, next, _ := strings.Cut(rest, "\n") // the gap may end within a line
		return text[0] == 0 && (begins(rest) || next != "" && begins(next))
	})
}

// beginsWith calls is with the beginning of the file at path, if it is a file that can be read.
func beginsWith(path string, is func(text string) bool) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return true // opening a pipe would block until there is a writer
	}
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return true // the next one to open it returns the error
	}
	defer func() { _ = f.Close() }()
	got := make([]byte, longestBegin)
	n, _ := io.ReadFull(f, got)
	return n == 0 || is(string(got[:n]))
}

// begins reports whether text is the beginning of a line of this package. The line of a killed process may be incomplete.
func begins(text string) bool {
	rest, ok := strings.CutPrefix(text, beginAnthropic)
	if !ok {
		return matches(text, beginOpenAI) || matches(text, beginAnthropic)
	}
	end := quoteIn(rest)
	return end < 0 && !strings.Contains(rest, "\n") || end >= 0 && matches(rest[end:], goOnAnthropic)
}

// matches reports whether one of the texts begins with the other.
func matches(text, begin string) bool {
	n := min(len(text), len(begin))
	return text[:n] == begin[:n]
}

// quoteIn returns the index of the quote that ends a JSON string, or -1 if there is none.
func quoteIn(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
