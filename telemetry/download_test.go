package telemetry_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/telemetry"
)

func TestDownloads(t *testing.T) {
	r, o := record(t, telemetry.Config{MaxNames: 1})
	tell := func(host string, err error, d *event.Download) {
		e := event.New(time.Now(), event.DownloadFetch, host)
		e.Attempt, e.Wait, e.Err, e.Download = 2, 3*time.Second, err, d
		o.Observe(e)
	}
	tell("Files.example.com:8443", nil, &event.Download{Target: "a", Bytes: 10, Resumed: 4})
	tell("Files.example.com:8443", io.EOF, &event.Download{Bytes: 1, Resumed: 4}) // begun anew
	tell("files.EXAMPLE.com", nil, &event.Download{Bytes: 8})
	tell("other.example.com", nil, &event.Download{Bytes: 5})
	tell("Files.example.com:8443", nil, nil)
	assert.Equal(t, []string{
		"headrace.download.duration=3 error.type=_OTHER server.address=files.example.com",
		"headrace.download.duration=3 server.address=_OTHER",
		"headrace.download.duration=3 server.address=files.example.com",
		"headrace.download.duration=3 server.address=files.example.com",
		"headrace.download.size=0 error.type=_OTHER server.address=files.example.com",
		"headrace.download.size=5 server.address=_OTHER",
		"headrace.download.size=6 server.address=files.example.com",
		"headrace.download.size=8 server.address=files.example.com",
	}, r.taken())
}
