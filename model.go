package headrace

import (
	"strings"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// longestModel bounds what is taken for the name of a model.
const longestModel = 128

// modelOf is the model that a request names, as it is spelt there: in its body or, as with
// Gemini and Bedrock, in its path. It is empty if there is none.
func modelOf(path string, body []byte) []byte {
	if m := jsonwalk.TextOf(body, "model"); m != nil {
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
