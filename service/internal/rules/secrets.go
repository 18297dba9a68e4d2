package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/headrace/headrace/internal/document"
)

// tokenText is what a bearer token may consist of.
var tokenText = regexp.MustCompile(`^[A-Za-z0-9._~+/-]{16,512}=*$`)

// secrets reads tokens and the key of permits. Nothing of them is ever in a problem.
func (c *Config) secrets(dir string, p *document.Problems) {
	a := &c.Runtime.Auth
	for _, text := range a.TokenHashes {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != sha256.Size {
			p.Addf([]string{"runtime", "auth", "token_hashes"}, "one of them is not a SHA-256 hash of 64 hexadecimal digits, as of sha256sum")
			continue
		}
		c.Tokens = append(c.Tokens, [sha256.Size]byte(sum))
	}
	if a.TokenFile != "" {
		c.tokens(inDir(dir, a.TokenFile), p)
	}
	if len(c.Tokens) > mostTokens {
		p.Addf([]string{"runtime", "auth"}, "%d tokens are more than %d", len(c.Tokens), mostTokens)
	}
	if file := c.Runtime.Permits.KeyFile; file != "" {
		c.key(inDir(dir, file), p)
	}
}

// tokens reads a file with a token in each line.
func (c *Config) tokens(path string, p *document.Problems) {
	at := []string{"runtime", "auth", "token_file"}
	text, err := readBounded(path, mostTokens*600)
	if err != nil {
		p.Addf(at, "%s", err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !tokenText.MatchString(line) {
			p.Addf(at, "a line is not a token of 16 to 512 letters, digits and . _ ~ + / -: use a random one, as of openssl rand -hex 32")
			break
		}
		n++
		c.Tokens = append(c.Tokens, sha256.Sum256([]byte(line)))
	}
	if n == 0 && err == nil {
		p.Addf(at, "the file has no token: write one a line, as of openssl rand -hex 32")
	}
}

// key reads the key of permits.
func (c *Config) key(path string, p *document.Problems) {
	const shortest, longest = 32, 4096
	at := []string{"runtime", "permits", "key_file"}
	text, err := readBounded(path, longest)
	if err != nil {
		p.Addf(at, "%s", err)
	} else if c.Key = []byte(strings.TrimSpace(string(text))); len(c.Key) < shortest {
		p.Addf(at, "the key has fewer than %d bytes: use a random one, as of openssl rand -hex 32", shortest)
	}
}
