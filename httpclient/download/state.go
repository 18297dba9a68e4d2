package download

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// maxState is more than the header of an answer may be long, and so than any validator.
const maxState = 2 << 20

// state vouches for the first Kept bytes of a part: they are on the disk, and of this version.
type state struct {
	Format    int       `json:"format"`
	Resource  string    `json:"resource"` // the hash of what is fetched: a URL can hold secrets
	Validator validator `json:"validator"`
	Kept      int64     `json:"kept"`
	Total     int64     `json:"total"` // -1: not known
}

const format = 1

// unknown is the state while the file may say anything.
var unknown = state{Kept: -1} //nolint:gochecknoglobals // a constant

func hashOf(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return hex.EncodeToString(sum[:])
}

// encode writes one line that begins with its own checksum: it is written over
// the last one in place, and may be torn.
func (s state) encode() []byte {
	s.Format = format
	line, err := json.Marshal(s)
	if err != nil { // every field can be marshalled
		return nil
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(line), line)
}

// decode returns the zero state for whatever encode did not write.
func decode(b []byte) state {
	line, _, ended := bytes.Cut(b, []byte("\n"))
	sum, line, _ := bytes.Cut(line, []byte(" "))
	if !ended || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(line)) {
		return state{}
	}
	var s state
	if json.Unmarshal(line, &s) != nil || s.Format != format || s.Kept < 0 || s.Total < -1 || s.Total >= 0 && s.Kept > s.Total {
		return state{}
	}
	return s
}
