//go:build unix

package group_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/internal/lockfile"
	"github.com/headrace/headrace/providertest"
)

// ballotFile is an Election in a file, for processes of one host. Tests of package redisstore have the one in Redis.
type ballotFile string

func ballotOf(dir string) ballotFile { return ballotFile(filepath.Join(dir, "ballot")) }

// stop stops a process that does not have the file's lock: it would keep it, and nothing could be elected.
func (b ballotFile) stop(t *testing.T, p *process) {
	t.Helper()
	require.NoError(t, b.change(t.Context(), func(*ballotState) {
		p.signal(syscall.SIGSTOP)
		_, err := syscall.Wait4(p.cmd.Process.Pid, nil, syscall.WUNTRACED, nil)
		assert.NoError(t, err)
	}))
}

type ballotState struct {
	Holder string
	Token  int64
	Until  time.Time
	Saved  []byte
}

func (b ballotFile) change(ctx context.Context, f func(s *ballotState)) error {
	lock, err := lockfile.Open(string(b) + ".lock")
	for ; errors.Is(err, lockfile.ErrHeld); lock, err = lockfile.Open(string(b) + ".lock") {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	var s ballotState
	text, err := os.ReadFile(string(b))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f(&s)
	if text, err = json.Marshal(s); err == nil {
		err = os.WriteFile(string(b)+".new", text, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(string(b)+".new", string(b))
}

func (b ballotFile) Acquire(ctx context.Context, candidate string, d time.Duration) (token int64, leader string, saved []byte, err error) {
	err = b.change(ctx, func(s *ballotState) {
		if now := time.Now(); s.Holder != candidate && now.Before(s.Until) {
			leader = s.Holder
		} else {
			s.Token++
			s.Holder, s.Until = candidate, now.Add(d)
			token, saved = s.Token, s.Saved
		}
	})
	return token, leader, saved, err
}

func (b ballotFile) Renew(ctx context.Context, token int64, d time.Duration, saved []byte) (held bool, err error) {
	err = b.change(ctx, func(s *ballotState) {
		now := time.Now()
		if held = token == s.Token && now.Before(s.Until); held {
			s.Until = now.Add(d)
			if saved != nil {
				s.Saved = saved
			}
		}
	})
	return held, err
}

func (b ballotFile) Release(ctx context.Context, token int64) error {
	return b.change(ctx, func(s *ballotState) {
		if token == s.Token {
			s.Until = time.Time{}
		}
	})
}

// replica is what a process does that is one of a service: it serves until its input ends.
type replica struct {
	Dir  string
	Addr string
}

func (r replica) url() string { return "https://" + r.Addr }

// serve is run in a process of its own.
func (r replica) serve() {
	h, err := group.NewHandler(group.HandlerConfig{Election: ballotOf(r.Dir), URL: r.url() + group.Path})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle(group.Path, h)
	server := http.Server{Addr: r.Addr, Handler: mux, ReadHeaderTimeout: time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second}
	go func() {
		if err := server.ListenAndServeTLS(filepath.Join(r.Dir, "cert.pem"), filepath.Join(r.Dir, "key.pem")); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	stop := report(h.Stats)
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	h.Close()
	_ = server.Close()
}

// serviceOf starts the replicas of a service, and returns its address.
func serviceOf(t *testing.T, n int) (address string, replicas []*process) {
	t.Helper()
	dir := t.TempDir()
	certify(t, dir)
	var urls []string
	for range n {
		at, err := freeport.Address(t.Context())
		require.NoError(t, err)
		r := replica{dir, at}
		urls = append(urls, r.url())
		replicas = append(replicas, start(t, member{Replica: &r}))
	}
	leaderOf(t, replicas)
	return strings.Join(urls, ",") + "?ca=" + filepath.Join(dir, "cert.pem"), replicas
}

// certify makes a certificate for 127.0.0.1.
func certify(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	_, err = tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	require.NoError(t, err)
}

// report prints what stats return whenever that changes.
func report(stats func() group.Stats) (stop func()) {
	done := make(chan struct{})
	go func() {
		for last := ""; ; {
			if s := stats(); string(s.Role) != last {
				last = string(s.Role)
				fmt.Println(s)
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// If the replica that leads is killed, another one leads. One that is stopped past its lease does not admit when
// it goes on.
func TestTheLeadingReplicaIsReplaced(t *testing.T) {
	t.Parallel()
	server, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	defer server.Close()
	address, replicas := serviceOf(t, 2)
	m := member{Address: address, URL: server.URL(), Workers: 1}
	all := []*process{start(t, m), start(t, m)}
	follow := func() {
		t.Helper()
		for _, p := range all {
			soon(t, func() bool { return strings.HasPrefix(p.role(), string(group.Following)) })
		}
	}
	follow()
	i := leaderOf(t, replicas)
	replicas[i].signal(syscall.SIGKILL)
	killed := time.Now()
	replicas[i].end()
	leaderOf(t, []*process{replicas[1-i]})
	t.Logf("another replica led after %s", time.Since(killed))
	follow()
	replicas[i] = start(t, *replicas[i].does)
	soon(t, func() bool { return strings.HasPrefix(replicas[i].role(), string(group.Following)) })

	i = leaderOf(t, replicas)
	ballotOf(replicas[i].does.Replica.Dir).stop(t, replicas[i])
	leaderOf(t, []*process{replicas[1-i]})
	replicas[i].signal(syscall.SIGCONT)
	soon(t, func() bool { return strings.HasPrefix(replicas[i].role(), string(group.Following)) })
	follow()
	for _, p := range append(all, replicas...) {
		p.end()
		assert.Empty(t, p.failures())
	}
}
