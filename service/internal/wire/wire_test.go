package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// sent is m as the other end of a connection has it.
func sent[M proto.Message](t require.TestingT, m, to M) M {
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(b, to))
	return to
}

func windows(t *rapid.T) throttle.Window {
	per := time.Duration(rapid.Int64Range(1, int64(90*365*24*time.Hour)).Draw(t, "per"))
	most := rapid.Int64Range(1, throttle.MaxAmount).Draw(t, "max")
	unit := throttle.Unit(rapid.IntRange(0, int(throttle.Units)-1).Draw(t, "unit"))
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return throttle.Sliding(most, per).Of(unit)
	case 1:
		return throttle.Bucket(rapid.Float64Range(1000, 1e12).Draw(t, "rate"), most).Of(unit)
	}
	zone := rapid.SampledFrom([]*time.Location{time.UTC, newYork, time.FixedZone("", 20_700), time.FixedZone("", 3600)}).Draw(t, "zone")
	anchor := time.Unix(rapid.Int64Range(-2e9, 7e9).Draw(t, "anchor"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).In(zone)
	return throttle.Fixed(most, per, anchor).Of(unit)
}

var newYork = func() *time.Location {
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		return time.UTC
	}
	return loc
}()

// alike compares anchors by their instant and their clock, and not by the pointer of a zone.
func alike(t require.TestingT, a, b throttle.Window) {
	assert.Equal(t, []any{a.Kind(), a.Unit(), a.Max(), a.Rate(), a.Per()}, []any{b.Kind(), b.Unit(), b.Max(), b.Rate(), b.Per()})
	assert.True(t, a.Anchor().Equal(b.Anchor()))
	for _, at := range []time.Time{a.Anchor(), a.Anchor().AddDate(0, 6, 0)} {
		from, to := a.Period(at)
		from2, to2 := b.Period(at)
		assert.True(t, from.Equal(from2) && to.Equal(to2), "%s: %s to %s, and %s to %s", at, from, to, from2, to2)
	}
}

func TestWindowsArriveAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := windows(t)
		got, err := wire.Window(sent(t, wire.PutWindow(w), &pb.Window{}))
		require.NoError(t, err)
		alike(t, w, got)
		again, err := wire.Window(wire.PutWindow(w))
		require.NoError(t, err)
		if zone := w.Anchor().Location(); zone == newYork || w.Kind() != throttle.CalendarWindow {
			assert.Equal(t, got, again, "equal windows are equal values: a store compares them")
		}
	})
}

func TestTicketsAndCostsArriveAsTheyAre(t *testing.T) {
	amount := rapid.Int64()
	cost := rapid.Custom(func(t *rapid.T) throttle.Cost {
		return throttle.Cost{Requests: amount.Draw(t, "requests"), Tokens: amount.Draw(t, "tokens"), Input: amount.Draw(t, "input"), Output: amount.Draw(t, "output"), Points: amount.Draw(t, "points")}
	})
	rapid.Check(t, func(t *rapid.T) {
		ticket := quota.Ticket{ID: rapid.StringN(1, 20, -1).Draw(t, "id"), At: amount.Draw(t, "at"), Token: amount.Draw(t, "token")}
		for range rapid.IntRange(1, 3).Draw(t, "demands") {
			d := quota.Demand{Key: rapid.StringN(1, 20, -1).Draw(t, "key"), Cost: cost.Draw(t, "cost")}
			d.Limits.Concurrency = rapid.Int().Draw(t, "concurrency")
			d.Limits.Windows = []throttle.Window{throttle.Sliding(3, time.Hour), throttle.Bucket(2, 5)}
			ticket.Demands = append(ticket.Demands, d)
		}
		m := sent(t, wire.PutTicket(ticket), &pb.Ticket{})
		demands, err := wire.Demands(m.GetDemands(), "")
		require.NoError(t, err)
		assert.Equal(t, ticket, quota.Ticket{ID: m.GetId(), At: m.GetAt(), Token: m.GetToken(), Demands: demands})
	})
}

func TestUnknownZones(t *testing.T) {
	local := throttle.Fixed(1, 24*time.Hour, time.Date(2024, 1, 1, 0, 0, 0, 0, newYork))
	field, problem := wire.CheckDemands([]quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{local}}}})
	require.Empty(t, field+problem)
	_, err := wire.Window(&pb.Window{Kind: pb.WindowKind_WINDOW_KIND_CALENDAR, Max: 1, PerNanos: 1, Anchor: &pb.Anchor{Zone: "Nowhere/Atall"}})
	require.ErrorContains(t, err, "tzdata")
	_, err = wire.Window(&pb.Window{Kind: pb.WindowKind_WINDOW_KIND_CALENDAR, Max: 1, PerNanos: 1, Anchor: &pb.Anchor{Zone: "Local"}})
	require.ErrorContains(t, err, "time.Local")
	_, err = wire.Window(&pb.Window{Kind: pb.WindowKind_WINDOW_KIND_CALENDAR, Max: 1, PerNanos: 1, Anchor: &pb.Anchor{Zone: "../../etc/passwd"}})
	require.Error(t, err)
}

// What no server of ours sends is an error, and not a panic.
func TestNonsense(t *testing.T) {
	demands := []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}}
	for _, m := range []*pb.Grant{
		{Demand: 1},
		{Demand: -1},
		{WaitNanos: -1},
		{Uses: []*pb.Uses{{}}},
		{Uses: []*pb.Uses{nil, nil}},
		{Uses: []*pb.Uses{{Windows: []*pb.WindowUse{{}, {}}}}},
	} {
		_, err := wire.Grant(m, demands)
		require.ErrorIs(t, err, wire.ErrAnswer, "%v", m)
	}
	g, err := wire.Grant(&pb.Grant{WaitNanos: 1, Bound: &pb.Bound{Kind: pb.BoundKind_BOUND_KIND_WINDOW, Window: 7}}, demands)
	require.NoError(t, err)
	assert.Equal(t, throttle.Window{}, g.Bound.Window)
	require.NoError(t, wire.Fault(nil))
	require.ErrorIs(t, wire.Fault(&pb.Error{Code: pb.Code_CODE_COST}), throttle.ErrCost)
	require.NoError(t, wire.Fault(&pb.Error{Code: pb.Code_CODE_INVALID}), "without a field it is none of these")
}
