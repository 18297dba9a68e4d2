package download

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// longest is the longest name that is repeated in those beside it, in bytes; file systems allow 255.
const longest = 200

func statePath(target string) string { return partPath(target) + ".json" }

// partPath names a long target by its hash.
func partPath(target string) string {
	folder, base := filepath.Split(target)
	if len(base) > longest {
		sum := sha256.Sum256([]byte(base))
		base = hex.EncodeToString(sum[:])
	}
	return folder + "." + base + ".part"
}
