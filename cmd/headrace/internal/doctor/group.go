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

// Group is a group of processes that share what one of them learns.
type Group struct {
	Address string `json:"address"`
	Path    string `json:"path,omitempty"`   // of the socket
	State   string `json:"state"`            // led, absent, stopped or unreachable
	Leader  int    `json:"leader,omitempty"` // the ID of the process that leads; 0: it is not known
	Program string `json:"program,omitempty"`

	Replicas []Replica `json:"replicas,omitempty"` // of a service
}

// The states of a Group, besides Absent and Unreachable.
const (
	Led     = "led"
	Stopped = "stopped"
)

// Replica is a replica of the service that has a group.
type Replica struct {
	URL     string `json:"url"`
	State   string `json:"state"`            // leads, follows or unreachable
	Leader  string `json:"leader,omitempty"` // the one that leads, as this one says
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

// group examines the socket of a group. It does not become a member: that would elect a leader where there is none.
func (x *examination) group(ctx context.Context, address string) {
	_, path, _ := strings.Cut(address, ":")
	x.secret(path)
	g := &Group{Address: settings.WithoutPassword(address), State: Unreachable}
	x.Groups = append(x.Groups, g)
	if strings.Contains(path, "://") {
		if scheme, _, _ := strings.Cut(path, ":"); strings.Contains(path, "@") { // a user may be a token, and each replica may have one
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
		x.add(Problem, StoreUnreachable, address, "make the folder, or correct the path; a relative one is relative to the working directory of each program",
			"there is no folder %s", filepath.Dir(g.Path))
		return
	case errors.Is(err, fs.ErrNotExist):
		g.State = Absent
		x.add(Note, GroupAbsent, address, "", "no process is in the group: the first one that joins leads")
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
		x.add(Note, GroupAbsent, address, "", "no process leads the group any more: the next one that joins leads")
		return
	}
	g.State = Led
	g.Leader, g.Program = leaderOf(conn)
	_ = conn.Close() // nothing was sent
	if g.Leader != 0 && stopped(g.Leader) {
		g.State = Stopped
		x.add(Problem, GroupStopped, address, fmt.Sprintf("continue it (kill -CONT %d) or end it: another member leads then", g.Leader),
			"process %d leads and is stopped: members take its place after about four seconds", g.Leader)
	}
	x.Unseen = append(x.Unseen, address+": how many processes are in the group, and what they use: the page of one of them shows that (--dashboard)")
}

// replicas asks the replicas of a service which of them leads.
func (x *examination) replicas(ctx context.Context, g *Group, address string) {
	ctx, cancel := x.within(ctx)
	defer cancel()
	look := func() (all []group.Replica, leaders int, err error) {
		all, err = bounded(ctx, func(ctx context.Context) ([]group.Replica, error) { return group.Look(ctx, address) })
		for _, r := range all {
			if r.Leads {
				leaders++
			}
		}
		return all, leaders, err
	}
	all, leaders, err := look()
	if err == nil && leaders != 1 {
		if again, n, err := look(); err == nil { // it may have been in the middle of an election
			all, leaders = again, n
		}
	}
	if err != nil {
		x.add(Problem, GroupUnreachable, g.Address, "", "it cannot be asked: %s", settings.Plain(err))
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
		x.add(Problem, GroupAbsent, g.Address, "list that replica in the address too, or give the ca of the replicas: a member sends its token to no other host",
			"the replicas name a leader that is not in the list, and members do not follow that name")
	case answer > 0:
		g.State = Absent
		x.add(Problem, GroupAbsent, g.Address, "look whether the replicas reach their Redis (headrace doctor --service ADDR); until one leads, each member uses its share of the limits",
			"no replica leads")
	}
	if leaders > 1 {
		x.add(Problem, GroupSplit, g.Address, "have all replicas use one Redis (runtime.store)", "%d replicas lead, and each admits as much as the limits allow", leaders)
	}
}

// namesOther reports whether r names a leader that was not asked, as it may not have the token.
func namesOther(all []group.Replica, r group.Replica) bool {
	return r.Leader != "" && !slices.ContainsFunc(all, func(o group.Replica) bool { return o.URL == r.Leader })
}
