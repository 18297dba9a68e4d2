package sdktest

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/pipenet"
)

// Listen serves h within the process, and returns what dials it, whatever the address, until the test ends.
func Listen(t *testing.T, h http.Handler) *http.Transport {
	t.Helper()
	l := pipenet.Listen()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	base := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
	return base
}
