package headrace

import (
	"bytes"
	"strings"
)

// longestModel bounds what is taken for the name of a model.
const longestModel = 128

// modelOf is the model that a request names, as it is spelt there: in its body or, as with
// Gemini and Bedrock, in its path. It is empty if there is none.
func modelOf(path string, body []byte) []byte {
	if m := memberOf(body, `"model"`); m != nil {
		return clip(m)
	}
	rest := path
	for rest != "" {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		if segment == "models" || segment == "model" || segment == "deployments" {
			return clip([]byte(modelIn(rest)))
		}
	}
	return nil
}

// modelIn is the name that a path goes on with, without the method behind it. An
// ARN has both a slash and colons of its own.
func modelIn(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 && strings.HasPrefix(path, "arn:") {
		return path[:i]
	}
	name, _, _ := strings.Cut(path, "/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func clip(name []byte) []byte {
	if len(name) > longestModel {
		return nil
	}
	return name
}

// memberOf returns the text that the outermost object of a JSON body has under
// a quoted key, or nil. It allocates nothing and stands any body.
func memberOf(body []byte, key string) []byte {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := endOfText(body, i)
			if end < 0 {
				return nil
			}
			if rest := bytes.TrimLeft(body[end:], " \t\r\n"); depth == 1 && string(body[i:end]) == key && len(rest) > 0 && rest[0] == ':' {
				return textIn(bytes.TrimLeft(rest[1:], " \t\r\n"))
			}
			i = end - 1
		}
	}
	return nil
}

// textIn returns the text that b begins with, without its quotes, or nil.
func textIn(b []byte) []byte {
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	end := endOfText(b, 0)
	if end < 0 {
		return nil
	}
	return b[1 : end-1]
}

// endOfText is where the text that begins with the quote at i ends, behind its last quote.
func endOfText(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
