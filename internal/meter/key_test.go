package meter_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/meter"
)

var epoch = time.Unix(0, 0).UTC()

// windows are all kinds, in zones of all kinds.
func windows(t *testing.T) []meter.Window {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip("this machine knows no time zones: ", err)
	}
	day := time.Date(2026, time.March, 7, 9, 0, 0, 5, zone)
	return []meter.Window{
		{Kind: meter.SlidingWindow, Unit: 0, Max: 20, Per: time.Second},
		{Kind: meter.SlidingWindow, Unit: 1, Max: 5000, Per: time.Minute},
		{Kind: meter.TokenBucket, Unit: 2, Max: 30, Rate: 7.0 / 3},
		{Kind: meter.CalendarWindow, Unit: 3, Max: 40, Per: 24 * time.Hour, Anchor: day},
		{Kind: meter.CalendarWindow, Unit: 4, Max: 50, Per: time.Second, Anchor: day.In(time.FixedZone("", 20700))},
		{Kind: meter.CalendarWindow, Unit: 0, Max: 60, Per: time.Hour, Anchor: day.UTC()},
	}
}

// A key that was written and read after each step decides like one that was not.
func TestAKeyGoesOnFromItsBytes(t *testing.T) {
	all := windows(t)
	random := rand.New(rand.NewPCG(1, 2))
	codec := meter.NewCodec(epoch)
	for range 50 {
		kept, read := &meter.Key{}, &meter.Key{}
		now := time.Date(2026, time.March, 8, 5, 0, 0, 0, time.UTC).Sub(epoch)
		var token int64
		var taken []time.Duration
		for range 60 {
			now += time.Duration(random.Int64N(int64(time.Second)))
			var a meter.Amounts
			for u := range a {
				a[u] = random.Int64N(4)
			}
			n := random.Int64N(5)
			op, pick, few := random.IntN(9), random.IntN(len(all)), random.IntN(4)
			for _, k := range []*meter.Key{kept, read} {
				k.Lapse(now)
				switch op {
				case 0:
					k.Under(now, few, all[:pick+1], epoch, token)
				case 1:
					k.Cooled = max(k.Cooled, now+time.Duration(few))
				case 2:
					k.Hold(token+1, now+time.Duration(few+1)*time.Second)
				case 3:
					if len(k.Slots) > 0 {
						require.True(t, k.Free(k.Slots[0].Token))
					}
				case 4:
					if len(taken) > 0 {
						k.Gauges.Settle(now, token, taken[pick%len(taken)], &a)
					}
				default:
					k.Gauges.Take(now, &a, n)
				}
			}
			token++
			taken = append(taken, now)

			text := codec.Append(nil, "key", read)
			var err error
			read, err = codec.Read(text, "key")
			require.NoError(t, err)
			require.Equal(t, text, codec.Append(nil, "key", read))
			for _, k := range []*meter.Key{kept, read} {
				k.Lapse(now)
			}
			require.Equal(t, kept.Bound(now, &a), read.Bound(now, &a))
			require.Equal(t, kept.Fit(now, &a, 9), read.Fit(now, &a, 9))
			require.Equal(t, kept.Idle(now), read.Idle(now))
			for i := range kept.Gauges {
				first, all := kept.Gauges[i].Frees(now)
				f, a := read.Gauges[i].Frees(now)
				require.Equal(t, kept.Gauges[i].Spent(now), read.Gauges[i].Spent(now))
				require.Equal(t, []time.Duration{first, all}, []time.Duration{f, a})
			}
			require.False(t, read.Under(now, kept.Concurrency, plain(kept.Gauges), epoch, token), "the windows are the same")
		}
	}
}

func plain(g meter.Gauges) (list []meter.Window) {
	for i := range g {
		list = append(list, g[i].Window)
	}
	return list
}

// Fit is as many as could be taken one by one.
func TestFitIsAsManyAsGoOneByOne(t *testing.T) {
	all := windows(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var many, single meter.Key
		var now time.Duration
		for _, k := range []*meter.Key{&many, &single} {
			k.Under(now, 7, all[:random.IntN(3)+1], epoch, 0)
		}
		single.Under(now, 7, plain(many.Gauges), epoch, 0)
		for range 5 {
			now += time.Duration(random.Int64N(int64(time.Second)))
			a := meter.Amounts{random.Int64N(4), random.Int64N(900), random.Int64N(4)}
			n := random.Int64N(12)
			fit := many.Fit(now, &a, n)
			many.Gauges.Take(now, &a, fit)
			var went int64
			for range min(n, 7) {
				if single.Bound(now, &a).Wait == 0 {
					single.Gauges.Take(now, &a, 1)
					went++
				}
			}
			require.Equal(t, went, fit)
		}
	}
}

func TestBytesThatWereNotWritten(t *testing.T) {
	codec := meter.NewCodec(epoch)
	k := &meter.Key{Slots: []meter.Slot{{Token: 7, Ends: 8}}}
	k.Under(0, 3, windows(t), epoch, 0)
	k.Gauges.Take(time.Second, &meter.Amounts{1, 2, 3, 4, 5}, 1)
	text := codec.Append(nil, "key", k)
	_, err := codec.Read(text, "another")
	require.ErrorIs(t, err, meter.ErrDamaged, "the bytes of another key")
	for i := range text {
		damaged := append([]byte(nil), text...)
		damaged[i] ^= 4
		_, err := codec.Read(damaged, "key")
		require.ErrorIs(t, err, meter.ErrDamaged, i)
		_, err = codec.Read(text[:i], "key")
		require.ErrorIs(t, err, meter.ErrDamaged, i)
	}
}

// What another process wrote and this one cannot read is not damaged.
func TestBytesOfAnotherRelease(t *testing.T) {
	codec := meter.NewCodec(epoch)
	_, err := codec.Read(codec.Seal([]byte{2}, "key"), "key")
	require.EqualError(t, err, "they have the version 2, and this release knows 1; use a later release")
	k := &meter.Key{}
	k.Under(0, 0, windows(t)[3:4], epoch, 0)
	text := bytes.Replace(codec.Append(nil, "key", k), []byte("New_York"), []byte("Atlantis"), 1)
	_, err = codec.Read(codec.Seal(body(text), "key"), "key")
	require.ErrorContains(t, err, "the anchor of a calendar window: unknown time zone America/Atlantis; ")
	require.NotErrorIs(t, err, meter.ErrDamaged)
}

// Bytes with a right checksum that no Key has are an error, and never a panic.
func FuzzCodec(f *testing.F) {
	codec := meter.NewCodec(epoch)
	k := &meter.Key{Concurrency: 1, Cooled: 2, Slots: []meter.Slot{{Token: 7, Ends: 8}}}
	f.Add(body(codec.Append(nil, "key", k)))
	for _, w := range []meter.Window{
		{Kind: meter.SlidingWindow, Max: 20, Per: time.Second},
		{Kind: meter.TokenBucket, Unit: 2, Max: 30, Rate: 2},
		{Kind: meter.CalendarWindow, Unit: 3, Max: 40, Per: 24 * time.Hour, Anchor: epoch},
	} {
		k.Under(0, 3, []meter.Window{w}, epoch, 0)
		k.Gauges.Take(time.Second, &meter.Amounts{1, 2, 3, 4, 5}, 1)
		f.Add(body(codec.Append(nil, "key", k)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := codec.Read(codec.Seal(text, "key"), "key")
		if err != nil {
			return
		}
		again, err := codec.Read(codec.Append(nil, "key", k), "key")
		require.NoError(t, err)
		assert.Len(t, again.Gauges, len(k.Gauges))
	})
}

func body(text []byte) []byte { return text[:len(text)-4] }
