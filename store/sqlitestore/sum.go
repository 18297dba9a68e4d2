package sqlitestore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/headrace/headrace/fault"
)

// sum is the CRC-32C of what a row has, by which flipped bits are found.
type sum uint32

func (s sum) numbers(values ...int64) sum {
	var b [8]byte
	for _, v := range values {
		binary.LittleEndian.PutUint64(b[:], uint64(v)) //nolint:gosec // all 64 bits of it
		s = sum(crc32.Update(uint32(s), castagnoli, b[:]))
	}
	return s
}

// bytes adds a value with its length, so that no two rows run together.
func (s sum) bytes(values ...[]byte) sum {
	for _, v := range values {
		s = s.numbers(int64(len(v)))
		s = sum(crc32.Update(uint32(s), castagnoli, v))
	}
	return s
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant but for its type

// sumError is a row that is not what was written.
type sumError struct {
	of    string
	field *fault.FieldError // of the limits of a key, which says nothing about others; nil: of anything else
}

// Unwrap returns the field, by which quota.WithFallback knows that the store works.
func (e *sumError) Unwrap() error {
	if e.field == nil {
		return nil
	}
	return e.field
}

func (e *sumError) Error() string {
	text := fmt.Sprintf("the checksum of %s is wrong", e.of)
	if e.field != nil {
		text += "; Forget removes only this key"
	}
	return text
}
