package wire

import (
	"sync"
	"time"

	"github.com/headrace/headrace/internal/meter"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// PutWindows returns the messages of windows.
func PutWindows(windows []throttle.Window) []*pb.Window {
	if len(windows) == 0 {
		return nil
	}
	list := make([]*pb.Window, len(windows))
	for i, w := range windows {
		list[i] = PutWindow(w)
	}
	return list
}

// PutWindow returns the message of w; nil for the zero Window.
func PutWindow(w throttle.Window) *pb.Window {
	m := &pb.Window{Unit: pb.Unit(w.Unit()), Max: w.Max()}
	switch w.Kind() {
	case throttle.SlidingWindow:
		m.Kind, m.PerNanos = pb.WindowKind_WINDOW_KIND_SLIDING, int64(w.Per())
	case throttle.TokenBucket:
		m.Kind, m.PerSecond = pb.WindowKind_WINDOW_KIND_BUCKET, w.Rate()
	case throttle.CalendarWindow:
		m.Kind, m.PerNanos = pb.WindowKind_WINDOW_KIND_CALENDAR, int64(w.Per())
		zone, offset := meter.Zone(w.Anchor())
		m.Anchor = &pb.Anchor{UnixNanos: w.Anchor().UnixNano(), Zone: zone, OffsetSeconds: int32(offset)} //nolint:gosec // less than a day or two
	default:
		return nil
	}
	return m
}

// Windows reads messages. What it cannot read is the zero Window, which no Validate accepts. The error is that of a
// time zone.
func Windows(list []*pb.Window) (windows []throttle.Window, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	windows = make([]throttle.Window, len(list))
	for i, m := range list {
		if windows[i], err = Window(m); err != nil {
			return nil, err
		}
	}
	return windows, nil
}

// Window is Windows for one.
func Window(m *pb.Window) (w throttle.Window, err error) {
	per := time.Duration(m.GetPerNanos())
	switch m.GetKind() {
	case pb.WindowKind_WINDOW_KIND_SLIDING:
		w = throttle.Sliding(m.GetMax(), per)
	case pb.WindowKind_WINDOW_KIND_BUCKET:
		w = throttle.Bucket(m.GetPerSecond(), m.GetMax())
	case pb.WindowKind_WINDOW_KIND_CALENDAR:
		var anchor time.Time // the zero one is that of Fixed
		if a := m.GetAnchor(); a != nil {
			loc, err := location(a.GetZone(), int(a.GetOffsetSeconds()))
			if err != nil {
				return w, err
			}
			anchor = time.Unix(0, a.GetUnixNanos()).In(loc)
		}
		w = throttle.Fixed(m.GetMax(), per, anchor)
	default:
		return w, nil
	}
	unit := m.GetUnit()
	if unit < 0 || int(unit) >= int(throttle.Units) {
		return throttle.Window{}, nil
	}
	return w.Of(throttle.Unit(unit)), nil
}

// zones are the locations that were loaded: equal windows have the same one.
var zones sync.Map //nolint:gochecknoglobals // a cache of the files of the time zones

// location loads each named zone once. There are some hundreds of them.
func location(name string, offset int) (*time.Location, error) {
	if loc, ok := zones.Load(name); ok && name != "" {
		return loc.(*time.Location), nil //nolint:forcetypeassert // nothing else is stored
	}
	loc, err := meter.Location(name, offset)
	if err == nil && name != "" {
		zones.Store(name, loc)
	}
	return loc, err
}

// checkZones returns an error for a calendar with a time zone that another process may not find by name.
func checkZones(windows []throttle.Window) error {
	for _, w := range windows {
		if w.Kind() != throttle.CalendarWindow {
			continue
		}
		if _, err := location(meter.Zone(w.Anchor())); err != nil {
			return err
		}
	}
	return nil
}
