package wire

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/headrace/headrace/quota"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// What a server accepts of one call.
const (
	MaxDemands = 64
	MaxWindows = 64   // of a demand
	MaxKey     = 1024 // bytes
)

// CheckDemands returns a problem, and the field that has it, of demands that no server accepts; empty texts if there is none.
func CheckDemands(demands []quota.Demand) (field, problem string) {
	if n := len(demands); n > MaxDemands {
		return "Demands", fmt.Sprintf("there are %d: a server accepts at most %d", n, MaxDemands)
	}
	for i := range demands {
		d := &demands[i]
		if problem := CheckKey(d.Key); problem != "" {
			return fmt.Sprintf("Demands[%d].Key", i), problem
		}
		at := fmt.Sprintf("Demands[%d].Limits.Windows", i)
		if n := len(d.Limits.Windows); n > MaxWindows {
			return at, fmt.Sprintf("there are %d: a server accepts at most %d", n, MaxWindows)
		}
		if err := checkZones(d.Limits.Windows); err != nil {
			return at, err.Error()
		}
	}
	return "", ""
}

// CheckKey returns a problem of a key, or of the beginning of one, that no server accepts; an empty text if there is none.
// Messages cannot hold bytes that are not UTF-8, and callers that share a message would fail together.
func CheckKey(key string) (problem string) {
	switch n := len(key); {
	case n > MaxKey:
		return fmt.Sprintf("it has %d bytes: a server accepts at most %d", n, MaxKey)
	case !utf8.ValidString(key):
		return "it is not valid UTF-8, which the server requires: write other bytes in hexadecimal"
	}
	return ""
}

// PutDemands returns the messages of demands.
func PutDemands(demands []quota.Demand) []*pb.Demand {
	list := make([]*pb.Demand, len(demands))
	for i := range demands {
		d := &demands[i]
		list[i] = &pb.Demand{
			Key: d.Key, Concurrency: int64(d.Limits.Concurrency), Windows: PutWindows(d.Limits.Windows), Cost: PutCost(d.Cost),
		}
	}
	return list
}

// Demands reads messages. Their keys get the prefix. The error is that of a time zone.
func Demands(list []*pb.Demand, prefix string) ([]quota.Demand, error) {
	demands := make([]quota.Demand, len(list))
	for i, m := range list {
		windows, err := Windows(m.GetWindows())
		if err != nil {
			return nil, err
		}
		d := quota.Demand{Limits: throttle.Limits{Concurrency: number(m.GetConcurrency()), Windows: windows}, Cost: Cost(m.GetCost())}
		if key := m.GetKey(); key != "" {
			d.Key = prefix + key
		}
		demands[i] = d
	}
	return demands, nil
}

// number is n as an int: what does not fit is as large as possible.
func number(n int64) int { return int(min(max(n, math.MinInt), math.MaxInt)) }

// PutCost returns the message of c; nil for the zero Cost.
func PutCost(c throttle.Cost) *pb.Cost {
	if c == (throttle.Cost{}) {
		return nil
	}
	return &pb.Cost{Requests: c.Requests, Tokens: c.Tokens, Input: c.Input, Output: c.Output, Points: c.Points}
}

// Cost reads a message.
func Cost(m *pb.Cost) throttle.Cost {
	return throttle.Cost{Requests: m.GetRequests(), Tokens: m.GetTokens(), Input: m.GetInput(), Output: m.GetOutput(), Points: m.GetPoints()}
}

// PutTicket returns the message of t.
func PutTicket(t quota.Ticket) *pb.Ticket {
	return &pb.Ticket{Id: t.ID, At: t.At, Token: t.Token, Demands: PutDemands(t.Demands)}
}
