package download

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// moody is a server that does everything a server may do, and much that it may not.
type moody struct {
	t       *rapid.T
	version int
	size    int
	served  map[string]bool
}

func (m *moody) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.t, what) }

func (m *moody) Do(req *http.Request) (*http.Response, error) {
	if m.draw(6, "new version") == 0 {
		m.version = 1 + m.version%5
		if m.draw(2, "new size") == 0 {
			m.size = 50 + m.draw(100, "size")
		}
	}
	body, tag := content(m.version, m.size), tagOf(m.version)
	m.served[string(body)] = true
	h := header("ETag", tag)
	length := len(body)
	cut := m.draw(len(body)*5/4, "cut")
	text, ranged := strings.CutPrefix(req.Header.Get("Range"), "bytes=")
	from, _ := strconv.Atoi(strings.TrimSuffix(text, "-"))
	same := req.Header.Get("If-Range") == tag
	mood := m.draw(12, "mood")
	switch {
	case mood == 0:
		return nil, errBroken
	case mood == 1:
		return respond(req, 503, h, 0, http.NoBody), nil
	case mood == 2: // of unknown length
		return respond(req, 200, h, -1, breaking(body, cut)), nil
	case mood == 3: // does no ranges, and names no version
		return respond(req, 200, header(), length, breaking(body, cut)), nil
	case mood == 4:
		h.Set("ETag", "W/"+tag)
		return respond(req, 200, h, length, breaking(body, cut)), nil
	case !ranged || mood == 5:
		return respond(req, 200, h, length, breaking(body, cut)), nil
	case mood == 6 && from < length: // ignores If-Range, but declares what it sends
	case mood == 7 && same && from+3 < length: // sends from elsewhere
		from += 1 + m.draw(3, "elsewhere")
	case mood == 8 && from < length && !same: // ignores If-Range, and does not say what it sends
		h.Del("ETag")
	case mood == 9 && same && from < length: // sends less than it was asked for
		last := from + m.draw(length-from, "last")
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, last, length))
		return respond(req, 206, h, last-from+1, breaking(body[from:last+1], cut)), nil
	case mood == 10:
		return respond(req, 416, header("Content-Range", fmt.Sprintf("bytes */%d", length)), 0, http.NoBody), nil
	case !same || from >= length:
		return respond(req, 200, h, length, breaking(body, cut)), nil
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, length-1, length))
	return respond(req, 206, h, length-from, breaking(body[from:], cut)), nil
}

// Whatever the server does, the file is one version that it has served and never a mixture; a failed call
// leaves the target, and nothing else that no state vouches for.
func TestTheFileIsOneVersion(t *testing.T) {
	successes, resumed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := newMemDisk()
		d.put("f", "old")
		m := &moody{t: t, version: 1, size: 50 + rapid.IntRange(0, 99).Draw(t, "size"), served: map[string]bool{}}
		before := "old"
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			result, err := fetchWith(context.Background(), m, "http://h/", "f", withDisk(d), withSyncSize(16), quick(rapid.IntRange(1, 3).Draw(t, "attempts")))
			got := d.read()
			if err != nil {
				if got != before {
					t.Fatalf("the target changed: %v", err)
				}
				if left := len(d.list()); errorOf(err).Kept == 0 && left != 1 || errorOf(err).Kept > 0 && left != 3 {
					t.Fatalf("%d files are left after %v", left, err)
				}
				continue
			}
			successes++
			if result.Resumed > 0 {
				resumed++
			}
			if !m.served[got] || result.Checksum != checksumOf([]byte(got)) || result.Bytes != int64(len(got)) {
				t.Fatalf("the file matches no version: %d bytes, %+v", len(got), result)
			}
			if len(d.list()) != 1 {
				t.Fatalf("left beside the target: %v", d.list())
			}
			before = got
		}
	})
	t.Logf("%d successes, %d of them resumed", successes, resumed)
}
