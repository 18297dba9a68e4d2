package httpclient

import (
	"crypto/rand"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/headrace/headrace/internal/header"
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

// dress gives req the headers of the client. The map that it has belongs to somebody else.
func (c *call) dress(req *http.Request) {
	config := &c.client.config
	_, agent := req.Header["User-Agent"] // an empty one means none, to net/http
	if agent && config.NoIDs {
		return
	}
	h := make(http.Header, len(req.Header)+3)
	maps.Copy(h, req.Header)
	if !agent {
		h["User-Agent"] = c.client.agent
	}
	if !config.NoIDs {
		c.ids = [1]string{c.id}
		h[header.CorrelationID] = c.ids[:]
		if config.RunID != "" {
			h[header.RunID] = c.client.run
		}
	}
	req.Header = h
}
