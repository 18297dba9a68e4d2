package redisstore_test

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/store/redisstore"
)

// hangUp serves connections that break when a script arrives, and counts the scripts. It answers no SUBSCRIBE.
func hangUp(t *testing.T) (addr string, scripts *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	scripts = new(atomic.Int64)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close() //nolint:errcheck // it is broken on purpose
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					switch word := strings.ToUpper(lines.Text()); word {
					case "EVALSHA":
						scripts.Add(1)
						return
					case "HELLO", "CLIENT":
						_, _ = conn.Write([]byte("-ERR unknown command\r\n"))
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		wg.Wait()
	})
	return l.Addr().String(), scripts
}

// A command that was sent may have been executed: a second one could give units back twice.
func TestNothingIsSentTwice(t *testing.T) {
	addr, scripts := hangUp(t)
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 5})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	s, err := redisstore.New(redisstore.GoRedis(c))
	require.NoError(t, err)
	_, err = s.Take(t.Context(), request("a"))
	require.Error(t, err)
	assert.EqualValues(t, 1, scripts.Load())
	require.NoError(t, s.Close())
}

// A subscription that is not answered ends with the store.
func TestCloseDoesNotWaitForASubscription(t *testing.T) {
	addr, _ := hangUp(t)
	s, err := redisstore.Open("redis://"+addr, redisstore.WithTimeout(50*time.Millisecond))
	require.NoError(t, err)
	_, err = s.Changed(t.Context(), "a")
	require.ErrorContains(t, err, "no answer")
	require.NoError(t, s.Close())
}
