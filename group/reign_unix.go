//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package group

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/lockfile"
)

func supported() error { return nil }

// reign is the time for which this process leads: for as long as it holds the
// lock on PATH.lock, which the system takes away if the process is killed, and
// the lock is the one at that path.
type reign struct {
	path     string
	lock     *os.File
	listener *net.UnixListener
	socket   os.FileInfo
	leader   *leader
	resigned atomic.Bool
	stop     chan struct{}
	wg       sync.WaitGroup
}

// begin takes the lock and serves. The error is errLed if another process has the lock.
func begin(path string) (r *reign, err error) {
	succeeds := false // either file is there if a process has led before, however that has ended
	for _, name := range [...]string{path, path + ".lock"} {
		_, err = os.Lstat(name)
		succeeds = succeeds || err == nil
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	listener, socket, err := listen(path)
	if err != nil {
		_ = lock.Close() // the error is that of listen
		return nil, err
	}
	r = &reign{path: path, lock: lock, listener: listener, socket: socket, leader: newLeader(false, succeeds), stop: make(chan struct{})}
	r.leader.term = &term{}
	r.leader.term.extend(time.Now().Add(unseen))
	r.wg.Go(r.accept)
	r.wg.Go(r.watch)
	return r, nil
}

// listen replaces the socket at path. The lock is held.
func listen(path string) (l *net.UnixListener, socket os.FileInfo, err error) {
	switch there, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, nil, err
	case there.Mode()&os.ModeSocket == 0:
		return nil, nil, fmt.Errorf("group: %s is not a socket: remove it, or use another path", path)
	default:
		if err = os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	l.SetUnlinkOnClose(false) // it may be that of the next leader
	if err = os.Chmod(path, 0o600); err == nil {
		socket, err = os.Lstat(path)
	}
	if err != nil {
		_ = l.Close() // the error is another one
		return nil, nil, err
	}
	return l, socket, nil
}

// over reports whether another process has taken over.
func (r *reign) over() bool { return r.resigned.Load() }

func (r *reign) accept() {
	for {
		conn, err := r.listener.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			rest(r.leader.ctx, soonest) // such as too many open files
			continue
		}
		r.wg.Go(func() {
			if err := samePeer(conn); err != nil {
				_ = conn.Close() // it gets no reason
				return
			}
			_ = r.leader.serve(conn) // the member sees for itself
		})
	}
}

// unseen is how long a leader admits calls after it has seen that it leads. Members wait for longer before they use
// their shares or replace it.
const unseen = leaderSilence - beat

// watch resigns when another process has taken over, because this one did not
// answer, or may do so at any time, because this one was stopped; and when the socket was
// removed, because new members cannot find it.
func (r *reign) watch() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
		}
		now := time.Now()
		if intact, err := r.intact(); err == nil && !intact || r.leader.term.over(now) {
			r.resign()
			return
		}
		r.leader.term.extend(now.Add(unseen))
	}
}

// intact reports whether the files at the paths are those of r.
func (r *reign) intact() (bool, error) {
	if same, err := isAt(r.path, r.socket); !same || err != nil {
		return false, err
	}
	return lockfile.IsAt(r.lock, r.path+".lock")
}

// resign ends all connections. Members find the next leader.
func (r *reign) resign() {
	r.resigned.Store(true)
	_ = r.listener.Close() // it has no error that matters
	r.leader.drop()
}

// close ends the reign. The socket is removed if it is ours.
func (r *reign) close() {
	close(r.stop)
	if intact, err := r.intact(); err == nil && intact {
		_ = os.Remove(r.path) // the next leader replaces it otherwise
	}
	r.resign()
	r.wg.Wait()
	r.leader.close()
	_ = r.lock.Close() // which gives up the lock
}

// dial connects to the leader. leads reports whether that is in this process.
func dial(ctx context.Context, path string, leads bool) (l *link, leader int, err error) {
	dialer := net.Dialer{Timeout: helloTimeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, 0, err
	}
	if err = samePeer(conn.(*net.UnixConn)); err != nil { //nolint:forcetypeassert // it is of the network unix
		_ = conn.Close() // the error is another one
		return nil, 0, err
	}
	l = newLink(conn)
	other, err := l.greet(hello{Version: version, PID: os.Getpid(), Leads: leads}, true)
	if err != nil {
		l.fail(err)
		return nil, 0, err
	}
	return l, other.PID, nil
}

// usurp makes way for another leader, because the one that has the lock does not
// answer. One process at a time decides that.
func usurp(ctx context.Context, path string) error {
	lock, err := lockFile(path + ".takeover")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which gives up the lock
	l, _, err := dial(ctx, path, false)
	switch {
	case err == nil: // it answers again, or is another one
		l.fail(net.ErrClosed)
		return errLed
	case !isTimeout(err):
		return errLed
	}
	if err = os.Remove(path + ".lock"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lockFile is lockfile.Open, with errLed if another process has the lock.
func lockFile(name string) (*os.File, error) {
	f, err := lockfile.Open(name)
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, errLed
	}
	return f, err
}

// isAt reports whether f is the file at name.
func isAt(name string, f os.FileInfo) (bool, error) {
	there, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(there, f), err
}
