package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/group"
)

// Group is a group of processes that share learned limits.
type Group struct {
	Address string `json:"address"`
	Path    string `json:"path,omitempty"`   // of the socket
	State   string `json:"state"`            // led, absent, stopped or unreachable
	Leader  int    `json:"leader,omitempty"` // the process ID of the leader; 0 if unknown
	Program string `json:"program,omitempty"`

	Replicas []Replica `json:"replicas,omitempty"` // of a group of a service
}

// The states of a Group, besides Absent and Unreachable.
const (
	Led     = "led"
	Stopped = "stopped"
)

// Replica is a replica of a service with a group.
type Replica struct {
	URL     string `json:"url"`
	State   string `json:"state"`            // leads, follows or unreachable
	Leader  string `json:"leader,omitempty"` // the leader according to this replica
	Problem string `json:"problem,omitempty"`
}

// The states of a Replica, besides Unreachable.
const (
	Leads   = "leads"
	Follows = "follows"
)

func isGroup(address string) bool {
	return strings.HasPrefix(address, "group:") || strings.HasPrefix(address, "unix:")
}

// group examines the socket of a group. It does not become a member, because that would elect a leader if there is none.
func (x *examination) group(ctx context.Context, address string) {
	_, path, _ := strings.Cut(address, ":")
	x.secret(path)
	g := &Group{Address: settings.WithoutPassword(address), State: Unreachable}
	x.Groups = append(x.Groups, g)
	if strings.Contains(path, "://") {
		if scheme, _, _ := strings.Cut(path, ":"); strings.Contains(path, "@") { // the user name may be a token, and each replica may have one
			g.Address = "group:" + scheme + "://..."
		}
		x.replicas(ctx, g, path)
		return
	}
	g.Path, _ = filepath.Abs(path)
	info, err := os.Lstat(g.Path)
	folder, folderErr := os.Stat(filepath.Dir(g.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && (folderErr != nil || !folder.IsDir()):
		x.add(Problem, StoreUnreachable, address, "create the folder, or correct the path; a relative path depends on the working directory of each program",
			"there is no folder %s", filepath.Dir(g.Path))
		return
	case errors.Is(err, fs.ErrNotExist):
		g.State = Absent
		x.add(Note, GroupAbsent, address, "", "no process is in the group: the first one that joins becomes the leader")
		return
	case err == nil && info.Mode()&os.ModeSocket == 0:
		x.add(Problem, StoreUnreachable, address, "remove the file, or use another path", "%s is not a socket", g.Path)
		return
	}
	ctx, cancel := x.within(ctx)
	defer cancel()
	dialer := net.Dialer{Timeout: min(x.Wait, time.Second)}
	conn, err := dialer.DialContext(ctx, "unix", g.Path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		x.add(Problem, StoreForeign, address, "run all processes of the group, and the doctor, as one user", "the socket belongs to another user")
		return
	case err != nil:
		g.State = Absent
		x.add(Note, GroupAbsent, address, "", "the leader of the group has gone: the next process that joins becomes the leader")
		return
	}
	g.State = Led
	g.Leader, g.Program = leaderOf(conn)
	_ = conn.Close() // nothing was sent
	if g.Leader != 0 && stopped(g.Leader) {
		g.State = Stopped
		x.add(Problem, GroupStopped, address, fmt.Sprintf("continue it (kill -CONT %d), or end it: then another member becomes the leader", g.Leader),
			"process %d is the leader and is stopped: another member takes over after about four seconds", g.Leader)
	}
	x.Unseen = append(x.Unseen, address+": the number of processes in the group, and their use: the dashboard of one of them shows both (--dashboard)")
}

// replicas asks the replicas of a service which of them is the leader.
func (x *examination) replicas(ctx context.Context, g *Group, address string) {
	ctx, cancel := x.within(ctx)
	defer cancel()
	look := func() (all []group.Replica, leaders int, err error) {
		all, err = bounded(ctx, func(ctx context.Context) ([]group.Replica, error) { return group.Replicas(ctx, address) })
		for _, r := range all {
			if r.Leads {
				leaders++
			}
		}
		return all, leaders, err
	}
	all, leaders, err := look()
	if err == nil && leaders != 1 {
		if again, n, err := look(); err == nil { // the first answer may have been during an election
			all, leaders = again, n
		}
	}
	if err != nil {
		x.add(Problem, GroupUnreachable, g.Address, "", "the request failed: %s", settings.Plain(err))
		return
	}
	answer, severity := 0, Warning
	if leaders == 0 {
		severity = Problem
	}
	for _, r := range all {
		state := Replica{URL: r.URL, State: Follows, Leader: r.Leader}
		switch {
		case r.Leads:
			state.State = Leads
		case r.Err != nil:
			state.State, state.Problem = Unreachable, settings.Plain(r.Err)
			x.add(severity, GroupUnreachable, r.URL, down(r.Err), "the replica cannot be used: %s", state.Problem)
		}
		if r.Err == nil {
			answer++
		}
		g.Replicas = append(g.Replicas, state)
	}
	switch {
	case leaders > 0:
		g.State = Led
	case slices.ContainsFunc(all, func(r group.Replica) bool { return namesOther(all, r) }):
		g.State = Absent
		x.add(Problem, GroupAbsent, g.Address, "add that replica to the address, or set the ca of the replicas: a member does not send its token to other hosts",
			"the replicas name a leader that is not in the address, and members do not connect to it")
	case answer > 0:
		g.State = Absent
		x.add(Problem, GroupAbsent, g.Address, "check that the replicas reach their Redis (headrace doctor --service ADDR); until there is a leader, each member uses its share of the limits",
			"no replica is the leader")
	}
	if leaders > 1 {
		x.add(Problem, GroupSplit, g.Address, "make all replicas use the same Redis (runtime.store)", "%d replicas act as leader, and each of them admits as much as the limits allow", leaders)
	}
}

// namesOther reports whether r names a leader outside the address, which was not asked because it must not receive the token.
func namesOther(all []group.Replica, r group.Replica) bool {
	return r.Leader != "" && !slices.ContainsFunc(all, func(o group.Replica) bool { return o.URL == r.Leader })
}
