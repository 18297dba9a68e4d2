package settings

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Secretive reports whether a header or a field of that name is likely to hold a secret.
func Secretive(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "key", "token", "secret", "cookie", "password", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "sig"
}

// keyLike matches the beginnings of the keys of well-known providers, and 16 letters and digits in a row.
var keyLike = regexp.MustCompile(`^(sk-|sk_|gsk_|csk-|xai-|hf_|pplx-|fw_|AIza|eyJ)|[A-Za-z0-9]{16}`)

// LooksLikeKey reports whether a word that was given for something else may be a key. Such a word must not be printed. A file of
// requests may have a hash or the time in its name.
func LooksLikeKey(word string) bool {
	switch strings.ToLower(filepath.Ext(word)) {
	case ".jsonl", ".json":
		return false
	}
	return keyLike.MatchString(word) && strings.ContainsAny(word, "0123456789")
}
