package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/quota"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// PutError returns the message of an error about a request: an invalid field, a cost or a lost lease; nil for other
// errors. What a CostError names loses the prefix.
func PutError(err error, prefix string) *pb.Error {
	if cost, ok := errors.AsType[*throttle.CostError](err); ok {
		c := *cost
		c.Limiter = strings.TrimPrefix(c.Limiter, prefix)
		return &pb.Error{Code: pb.Code_CODE_COST, Message: c.Error(), Cost: &pb.CostProblem{
			Limiter: c.Limiter, Unit: pb.Unit(c.Unit), Amount: c.Amount, Max: c.Max, Window: PutWindow(c.Window),
		}}
	}
	if errors.Is(err, quota.ErrLeaseLost) {
		return &pb.Error{Code: pb.Code_CODE_PERMIT, Message: err.Error()}
	}
	if fields := fieldErrors(nil, err); len(fields) > 0 {
		m := &pb.Error{Code: pb.Code_CODE_INVALID}
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = f.Error()
			m.Fields = append(m.Fields, &pb.FieldProblem{Owner: f.Owner, Field: f.Field, Problem: f.Problem})
		}
		m.Message = strings.Join(texts, "\n")
		return m
	}
	return nil
}

// fieldErrors appends the field errors of a tree.
func fieldErrors(list []*fault.FieldError, err error) []*fault.FieldError {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case nil:
	case *fault.FieldError:
		list = append(list, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = fieldErrors(list, one)
		}
	case interface{ Unwrap() error }:
		list = fieldErrors(list, e.Unwrap())
	}
	return list
}

// Fault returns the error of a message that PutError made; nil for other messages.
func Fault(m *pb.Error) error {
	switch m.GetCode() {
	case pb.Code_CODE_COST:
		c := m.GetCost()
		w, err := Window(c.GetWindow())
		if err != nil {
			w = throttle.Window{}
		}
		unit := throttle.Unit(max(0, min(c.GetUnit(), pb.Unit(throttle.Units))))
		return &throttle.CostError{Limiter: c.GetLimiter(), Unit: unit, Amount: c.GetAmount(), Max: c.GetMax(), Window: w}
	case pb.Code_CODE_PERMIT:
		text := strings.TrimPrefix(strings.TrimPrefix(m.GetMessage(), quota.ErrLeaseLost.Error()), ": ")
		return fmt.Errorf("%w: %s", quota.ErrLeaseLost, text)
	case pb.Code_CODE_INVALID:
		var errs []error
		for _, f := range m.GetFields() {
			errs = append(errs, &fault.FieldError{Owner: f.GetOwner(), Field: f.GetField(), Problem: f.GetProblem()})
		}
		return errors.Join(errs...)
	default:
		return nil
	}
}
