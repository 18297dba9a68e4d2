package meter

import "encoding/binary"

// Seal appends the checksum that belongs to b.
func (c *Codec) Seal(b []byte, name string) []byte {
	return binary.LittleEndian.AppendUint32(b[:len(b):len(b)], c.sum(b, name))
}
