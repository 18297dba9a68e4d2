package httpclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/wiretest"
)

const canary = wiretest.Canary

// No secret is in an error, in one of its causes, in an event or in a log,
// also where the other side repeats everything that it was sent.
func TestSecretCanary(t *testing.T) {
	echo := func(before string) func(net.Conn) {
		return func(c net.Conn) {
			b := make([]byte, 4<<10)
			n, _ := c.Read(b)
			_, _ = io.WriteString(c, before)
			for line := range strings.Lines(string(b[:n])) {
				if strings.Contains(line, canary) {
					_, _ = io.WriteString(c, strings.TrimSpace(line)+" ")
				}
			}
			_, _ = io.WriteString(c, "\r\n\r\n")
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"hangs up":             says(""),
		"truncates":            says(ok + "Content-Length: 3\r\n\r\n"),
		"refuses":              says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
		"redirects":            says("HTTP/1.1 302 Found\r\nLocation: /?key=" + canary + "\r\nContent-Length: 0\r\n\r\n"),
		"echoes as garbage":    echo(""),
		"echoes in the header": echo(ok),
		"echoes as a length":   echo(ok + "Content-Length: "),
		"echoes as a chunk":    echo(ok + "Transfer-Encoding: chunked\r\n\r\n"),
		"answers":              says(ok + "Content-Length: 0\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			var told requests
			var log bytes.Buffer
			logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c := newClient(t, func(c *httpclient.Config) {
				c.Observer = event.Tee(&told, event.Slog(logger))
				c.FailOnRedirect = true
				c.Sign = func(r *http.Request) error {
					r.Header.Set("X-Goog-Api-Key", canary+"-signed")
					r.URL.RawQuery += "&sig=" + canary + "%2Fsig"
					return nil
				}
			})
			req := request(t, "GET", "http://user:"+canary+"-pw@"+listen(t, serve)+"/path?key="+canary+"-query&"+canary+"#"+canary, nil)
			req.Header.Set("Authorization", "Bearer "+canary+"-bearer")
			req.Header.Set("X-Api-Key", canary+"-key")
			req.Header.Set("Cookie", "session="+canary)
			resp, err := c.Do(req)
			if err == nil {
				err = httpclient.CheckStatus(resp)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
			}
			if name != "answers" {
				require.Error(t, err)
			}
			logger.Error("failed", "err", err)
			noCanary(t, err)
			noCanary(t, told.one(t).Err)
			assert.NotContains(t, log.String(), canary)
			assert.NotContains(t, fmt.Sprintf("%+v", *told.one(t).Request), canary)
			assert.Equal(t, "/path?key=REDACTED&REDACTED", told.one(t).Request.URL[strings.LastIndex(told.one(t).Request.URL, "/"):])
		})
	}
}

// What net/http puts around has the URL, so the query is where a signer adds it.
func TestStandardShowsNoSignedSecret(t *testing.T) {
	c := newClient(t, func(c *httpclient.Config) {
		c.Sign = func(r *http.Request) error {
			r.URL.RawQuery = "key=" + canary
			return nil
		}
	})
	resp, err := c.Standard().Do(request(t, "GET", "http://"+listen(t, says("")), nil))
	if err == nil {
		resp.Body.Close()
	}
	var outside *url.Error
	require.True(t, errors.As(err, &outside))
	assert.Equal(t, httpclient.CodeRead, failure(t, err).Code)
	noCanary(t, err)
}
