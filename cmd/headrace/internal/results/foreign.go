package results

import (
	"io"
	"os"
	"strings"
)

// How lines of this package begin; in those of Anthropic's form the custom_id stands between both parts.
const (
	beginOpenAI    = `{"id":"` + openAIID
	beginAnthropic = `{"custom_id":"`
	goOnAnthropic  = `","result":{"type":"`
)

// longestBegin is at least how long the beginning of a line gets, in bytes: each of the 512 of a custom_id may be written
// as an escape of six.
const longestBegin = 4096

// Foreign reports whether the file at path holds anything but lines of this package.
func Foreign(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false // opening a pipe would wait for its writer
	}
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	got := make([]byte, longestBegin)
	n, _ := io.ReadFull(f, got)
	return !begins(string(got[:n]))
}

// begins reports whether text is the beginning of a line of this package. A line that was cut by a kill may end early.
func begins(text string) bool {
	rest, ok := strings.CutPrefix(text, beginAnthropic)
	if !ok {
		return matches(text, beginOpenAI) || matches(text, beginAnthropic)
	}
	end := quoteIn(rest)
	return end < 0 && !strings.Contains(rest, "\n") || end >= 0 && matches(rest[end:], goOnAnthropic)
}

// matches reports whether one of them begins with the other.
func matches(text, begin string) bool {
	n := min(len(text), len(begin))
	return text[:n] == begin[:n]
}

// quoteIn is where a JSON string ends; -1 if it does not.
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
