// Package http2dead lets clients notice that a connection over HTTP/2 is dead, although nothing has closed it: a firewall has
// forgotten it, or the machine was asleep. All requests to a host share such a connection, so each of them, and each
// retry, would wait until the system gives it up, which takes a quarter of an hour.
package http2dead

import (
	"net/http"
	"time"
)

// The measurements of this project were made with these.
const (
	pingAfter    = 15 * time.Second
	pingTimeout  = 5 * time.Second
	writeTimeout = 15 * time.Second
)

// Config returns the settings of an http.Transport with which a dead connection is closed after 20 seconds.
func Config() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: writeTimeout}
}
