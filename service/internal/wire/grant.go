package wire

import (
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace/quota"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// PutGrant returns the message of g, the answer to a Take of demands.
func PutGrant(g *quota.Grant, demands []quota.Demand) *pb.Grant {
	m := &pb.Grant{WaitNanos: int64(g.Wait), Id: g.Ticket.ID, At: g.Ticket.At, Token: g.Ticket.Token}
	if g.Wait > 0 {
		m.Demand = int32(g.Demand) //nolint:gosec // an index of what came in a message
		m.Bound = putBound(g, demands)
	}
	for _, uses := range g.Uses {
		m.Uses = append(m.Uses, &pb.Uses{Windows: PutUses(uses)})
	}
	if g.Degraded != nil {
		m.Degraded = g.Degraded.Error()
	}
	return m
}

func putBound(g *quota.Grant, demands []quota.Demand) *pb.Bound {
	m := &pb.Bound{WaitNanos: int64(g.Bound.Wait)}
	switch g.Bound.Kind {
	case throttle.BoundByWindow:
		m.Kind, m.Window = pb.BoundKind_BOUND_KIND_WINDOW, -1
		if g.Demand < len(demands) {
			m.Window = int32(slices.Index(demands[g.Demand].Limits.Windows, g.Bound.Window)) //nolint:gosec // an index of what came in a message
		}
	case throttle.BoundByConcurrency:
		m.Kind = pb.BoundKind_BOUND_KIND_CONCURRENCY
	case throttle.BoundByPause:
		m.Kind = pb.BoundKind_BOUND_KIND_PAUSE
	default:
	}
	return m
}

// ErrAnswer is the error for an answer that is not understood.
var ErrAnswer = errors.New("unexpected answer: the server may have another version")

// Grant reads the answer to a Take of demands, which its ticket and bound refer to.
func Grant(m *pb.Grant, demands []quota.Demand) (g quota.Grant, err error) {
	g.Wait = time.Duration(m.GetWaitNanos())
	if m.GetDegraded() != "" {
		g.Degraded = errors.New(m.GetDegraded())
	}
	if g.Wait < 0 || m.GetDemand() < 0 || int(m.GetDemand()) >= len(demands) {
		return quota.Grant{}, ErrAnswer
	}
	if g.Wait > 0 {
		g.Demand = int(m.GetDemand())
		g.Bound = bound(m.GetBound(), demands[g.Demand].Limits.Windows)
	} else if m.GetId() != "" {
		g.Ticket = quota.Ticket{ID: m.GetId(), At: m.GetAt(), Token: m.GetToken(), Demands: demands}
	}
	if m.GetUses() == nil {
		return g, nil
	}
	g.Uses = make([][]throttle.WindowUse, len(demands))
	for i := range demands {
		var uses []*pb.WindowUse
		if i < len(m.GetUses()) {
			uses = m.GetUses()[i].GetWindows()
		}
		if g.Uses[i], err = Uses(uses, demands[i].Limits.Windows); err != nil {
			return quota.Grant{}, err
		}
	}
	return g, nil
}

func bound(m *pb.Bound, windows []throttle.Window) throttle.Bound {
	b := throttle.Bound{Wait: time.Duration(m.GetWaitNanos())}
	switch m.GetKind() {
	case pb.BoundKind_BOUND_KIND_WINDOW:
		b.Kind = throttle.BoundByWindow
		if i := int(m.GetWindow()); i >= 0 && i < len(windows) {
			b.Window = windows[i]
		}
	case pb.BoundKind_BOUND_KIND_CONCURRENCY:
		b.Kind = throttle.BoundByConcurrency
	default:
		b.Kind = throttle.BoundByPause
	}
	return b
}

// PutUses returns the messages of uses, without their windows.
func PutUses(uses []throttle.WindowUse) []*pb.WindowUse {
	list := make([]*pb.WindowUse, len(uses))
	for i, u := range uses {
		list[i] = &pb.WindowUse{Spent: u.Spent, Left: u.Left, FreesInNanos: int64(u.FreesIn), ResetsInNanos: int64(u.ResetsIn)}
	}
	return list
}

// Uses reads the uses of windows.
func Uses(list []*pb.WindowUse, windows []throttle.Window) ([]throttle.WindowUse, error) {
	if len(list) != len(windows) {
		return nil, ErrAnswer
	}
	if len(list) == 0 {
		return nil, nil
	}
	uses := make([]throttle.WindowUse, len(list))
	for i, m := range list {
		uses[i] = throttle.WindowUse{
			Window: windows[i], Spent: m.GetSpent(), Left: m.GetLeft(),
			FreesIn: time.Duration(m.GetFreesInNanos()), ResetsIn: time.Duration(m.GetResetsInNanos()),
		}
	}
	return uses, nil
}
