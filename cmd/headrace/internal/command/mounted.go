package command

import (
	"errors"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
)

// electionName identifies the election of a leader among servers on one Redis.
const electionName = "headrace serve"

// mounted is the group of a server. It is passed to service.New, which opens the store that the election needs.
type mounted struct {
	*group.Handler // nil until begin

	election group.Election // nil if there is only one server
}

// electBy sets up the election of a leader among servers on one Redis. A server on any other store leads a group of its own.
func (m *mounted) electBy(s quota.Store) {
	if redis, ok := s.(*redisstore.Store); ok {
		m.election = redis.Election(electionName)
	}
}

// begin joins the election. Members reach this server at url, which may be empty.
func (m *mounted) begin(url string) (err error) {
	m.Handler, err = group.NewHandler(group.HandlerConfig{Election: m.election, URL: url})
	if of, ok := errors.AsType[*fault.FieldError](err); ok {
		return &settings.Error{Flag: "--url", Problem: of.Problem}
	}
	return err
}
