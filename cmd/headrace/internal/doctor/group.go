package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Group is a group of processes that share what one of them learns.
type Group struct {
	Address string `json:"address"`
	Path    string `json:"path"`
	State   string `json:"state"`            // led, absent, stopped or unreachable
	Leader  int    `json:"leader,omitempty"` // the ID of the process that leads; 0: it is not known
	Program string `json:"program,omitempty"`
}

// The states of a Group, besides Absent and Unreachable.
const (
	Led     = "led"
	Stopped = "stopped"
)

func isGroup(address string) bool {
	return strings.HasPrefix(address, "group:") || strings.HasPrefix(address, "unix:")
}

// group examines the socket of a group. It does not become a member: that would elect a leader where there is none.
func (x *examination) group(ctx context.Context, address string) {
	_, path, _ := strings.Cut(address, ":")
	g := &Group{Address: address, State: Unreachable}
	g.Path, _ = filepath.Abs(path)
	x.Groups = append(x.Groups, g)
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
