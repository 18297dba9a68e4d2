package httpclient

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"
)

// ids gives each call a name of its own: a random text for the client, 130 bits of it, and a count.
type ids struct {
	client string
	count  atomic.Uint64
}

func newIDs() *ids { return &ids{client: rand.Text() + "-"} }

func (i *ids) next() string {
	var b [48]byte
	return string(strconv.AppendUint(append(b[:0], i.client...), i.count.Add(1), 36))
}
