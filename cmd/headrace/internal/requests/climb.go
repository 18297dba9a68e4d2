package requests

import (
	"net/url"
	"strings"
)

// climbs reports whether a URL has a segment "." or "..", which a server or a proxy would resolve after the check that
// the path is below --base-url. Servers decode escapes, some of them twice, treat a backslash as a slash, and drop the parameters
// of a segment (..;a=b).
func climbs(text string) bool {
	path, _, _ := strings.Cut(text, "?")
	for {
		for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			return false
		}
		path = decoded
	}
}
