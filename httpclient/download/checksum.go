package download

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// checksum is an algorithm, and the sum that is wanted or nil.
type checksum struct {
	name string
	new  func() hash.Hash
	want []byte
}

func sha256Sum() checksum { return checksum{name: "sha256", new: sha256.New} }

// parseChecksum returns what is wrong with text, or "". more are further algorithms.
func parseChecksum(text string, more map[string]func() hash.Hash) (sum checksum, problem string) {
	name, digits, _ := strings.Cut(text, ":")
	switch sum.name = strings.ToLower(name); sum.name {
	case "sha256":
		sum.new = sha256.New
	case "sha384":
		sum.new = sha512.New384
	case "sha512":
		sum.new = sha512.New
	default:
		if sum.new = more[sum.name]; sum.new == nil {
			return checksum{}, fmt.Sprintf("%q; want sha256:, sha384: or sha512: and hexadecimal digits, or another algorithm in Hashes", text)
		}
	}
	want, err := hex.DecodeString(digits)
	if size := sum.new().Size(); err != nil || len(want) != size {
		return checksum{}, fmt.Sprintf("%q; want %d hexadecimal digits after the colon", text, 2*size)
	}
	sum.want = want
	return sum, ""
}

func (c checksum) text(sum []byte) string { return c.name + ":" + hex.EncodeToString(sum) }

func (c checksum) verify(sum []byte) error {
	if c.want == nil || bytes.Equal(sum, c.want) {
		return nil
	}
	return fmt.Errorf("%w: %s; want %s", ErrChecksum, c.text(sum), c.text(c.want))
}
