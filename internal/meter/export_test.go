package meter

import (
	"encoding/binary"
	"slices"
)

// Seal appends the checksum that belongs to b.
func (c *Codec) Seal(b []byte, name string) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clip(b), c.sum(b, name))
}
