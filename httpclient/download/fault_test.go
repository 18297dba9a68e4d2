package download

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const whole = 200 << 10 // several buffers

// Whatever call to the disk fails, at whichever time: the target is the old one or the new one, nothing
// is left behind that is not gone on from, and the next call succeeds.
func TestEveryCallToTheDiskMayFail(t *testing.T) {
	body := content(1, whole)
	for _, cut := range []int{whole, 100 << 10} { // the second has something to resume
		for at := 1; ; at++ {
			d := newMemDisk()
			d.put("f", "old")
			if cut < whole {
				_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1), cuts: []int{cut}}, "http://h/", "f", withDisk(d), quick(1))
				require.Error(t, err)
				require.Equal(t, int64(cut), errorOf(err).Kept)
			}
			d.calls, d.failAt = 0, at
			server := &honest{body: body, tag: tagOf(1)}
			result, err := fetchWith(t.Context(), server, "http://h/", "f", withDisk(d), withSyncSize(64<<10), quick(1))
			if d.failed == "" {
				require.NoError(t, err, "without a fault")
				assert.Greater(t, at, 10)
				break
			}
			got, failed := d.read(), errorOf(err)
			if err == nil {
				assert.Contains(t, []string{"unlock", "truncate", "read"}, d.failed, "call %d was ignored", at)
				assert.Equal(t, string(body), got)
			} else {
				require.NotNil(t, failed)
				assert.ErrorIs(t, err, syscall.ENOSPC, "call %d", at)
				assert.Equal(t, "f", failed.Target)
				if failed.Step == stepPublish && d.failed == "syncDir" {
					assert.Equal(t, string(body), got)
				} else {
					assert.Equal(t, "old", got, "call %d, %s", at, d.failed)
				}
				if failed.Kept == 0 && d.failed != "unlock" && d.failed != "remove" && cut == whole {
					assert.Equal(t, []string{"f"}, d.list(), "call %d, %s, left something", at, d.failed)
				}
			}
			d.failAt = 0
			if err == nil {
				assert.Equal(t, checksumOf(body), result.Checksum)
				continue
			}
			result, err = fetchWith(t.Context(), server, "http://h/", "f", withDisk(d), quick(1))
			require.NoError(t, err, "after call %d, %s, failed", at, d.failed)
			if failed.Step == stepOpen { // it failed before it looked for an earlier part
				assert.Contains(t, []int64{0, 100 << 10}, result.Resumed)
			} else {
				assert.Equal(t, failed.Kept, result.Resumed, "call %d, %s", at, d.failed)
			}
			assert.Equal(t, string(body), d.read())
			assert.Equal(t, []string{"f"}, d.list())
		}
	}
}

// The power may go at any call, of a download that changes its version, any number of times, and the disk then has anything in
// place of what was not synced: what the last call publishes is one version.
func TestLossOfPower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newMemDisk()
		d.put("f", "old")
		allowed := map[string]bool{"old": true}
		for range rapid.IntRange(1, 4).Draw(t, "losses") {
			version := rapid.IntRange(1, 3).Draw(t, "version")
			body := content(version, 300)
			allowed[string(body)] = true
			server := &honest{body: body, tag: tagOf(version), cuts: []int{rapid.IntRange(2, 200).Draw(t, "cut"), rapid.IntRange(2, 200).Draw(t, "cut")}}
			d.dieAt = rapid.IntRange(1, 40).Draw(t, "die at")
			fetchUntilDeath(server, d)
			d = d.lose(func(_ string, n int) int { return rapid.IntRange(0, n-1).Draw(t, "lose") })
			if !allowed[d.read()] {
				t.Fatalf("the target is neither the old file nor a whole version")
			}
		}
		body := content(rapid.IntRange(1, 3).Draw(t, "last version"), 300)
		tag := tagOf(int(body[0]) / 40)
		_, err := fetchWith(context.Background(), &honest{body: body, tag: tag}, "http://h/", "f", withDisk(d), quick(3))
		if err != nil || d.read() != string(body) {
			t.Fatalf("%v; the file is not the version", err)
		}
	})
}

// The state of one version, the bytes of another, and then a loss of power at each call: the first version, which is there again
// later, is not mixed with the other.
func TestLossOfPowerBetweenTwoVersions(t *testing.T) {
	one, two := content(1, 300), content(2, 300)
	for dieAt := 1; dieAt < 30; dieAt++ {
		for variant := range 2 * 3 * 3 {
			choose := func(name string, _ int) int {
				return map[string]int{"": variant % 2, ".f.part": variant / 2 % 3, ".f.part.json": variant / 6}[name]
			}
			d := newMemDisk()
			_, err := fetchWith(t.Context(), &honest{body: one, tag: tagOf(1), cuts: []int{200}}, "http://h/", "f", withDisk(d), quick(1))
			require.Error(t, err)
			require.NoError(t, d.syncDir(""))
			d.calls, d.dieAt = 0, dieAt
			fetchUntilDeath(&honest{body: two, tag: tagOf(2), cuts: []int{100, 0, 0, 0}}, d)
			d = d.lose(choose)
			_, err = fetchWith(t.Context(), &honest{body: one, tag: tagOf(1)}, "http://h/", "f", withDisk(d), quick(1))
			require.NoError(t, err)
			require.Equal(t, string(one), d.read(), "power lost at call %d, variant %d", dieAt, variant)
		}
	}
}

// What a call says that it did is there after a loss of power.
func TestWhatIsToldIsDurable(t *testing.T) {
	body := content(1, 300)
	nothingMore := func(name string, _ int) int {
		if name == "" {
			return 1
		}
		return 0
	}
	d := newMemDisk()
	_, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1), cuts: []int{200}}, "http://h/", "f", withDisk(d), quick(1))
	require.Equal(t, int64(200), errorOf(err).Kept)
	d = d.lose(nothingMore)
	r, err := fetchWith(t.Context(), &honest{body: body, tag: tagOf(1)}, "http://h/", "f", withDisk(d), quick(1))
	require.NoError(t, err)
	assert.Equal(t, int64(200), r.Resumed)
	assert.Equal(t, string(body), d.lose(nothingMore).read())
}

func fetchUntilDeath(client Doer, d *memDisk) {
	defer func() {
		if r := recover(); r != nil && r != any(errPower) {
			panic(r)
		}
	}()
	_, _ = fetchWith(context.Background(), client, "http://h/", "f", withDisk(d), withSyncSize(32), quick(3))
}

// A sync that failed is not believed when it succeeds the second time.
func TestAFailedSyncIsFinal(t *testing.T) {
	d := newMemDisk()
	p := &part{config: &config{disk: d}, have: 5}
	p.file = &memFile{d, &inode{}}
	d.failAt = 1
	first := p.sync()
	require.Error(t, first)
	assert.Equal(t, first, p.sync())
	assert.Zero(t, p.synced)
}

func TestTheLockIsGivenBackOnAPanic(t *testing.T) {
	d := newMemDisk()
	boom := doer(func(*http.Request) (*http.Response, error) { panic("boom") })
	assert.PanicsWithValue(t, "boom", func() { _, _ = fetchWith(t.Context(), boom, "http://h/", "f", withDisk(d)) })
	_, err := fetchWith(t.Context(), &honest{body: content(1, 9), tag: tagOf(1)}, "http://h/", "f", withDisk(d))
	assert.False(t, errors.Is(err, ErrBusy))
	assert.NoError(t, err)
}
