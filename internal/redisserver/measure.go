package redisserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Measure has that many goroutines make b.N calls of f, after one that is not counted. It reports the processor time
// of this process and of the server for each call, and the median and the 99th percentile of the latencies.
func (s *Server) Measure(b *testing.B, goroutines int, f func(ctx context.Context) error) {
	b.Helper()
	ctx := b.Context()
	if err := f(ctx); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	took := make([][]time.Duration, goroutines)
	for i := range took {
		took[i] = make([]time.Duration, 0, 2*b.N/goroutines)
	}
	before := s.used(b)
	b.ResetTimer()
	for i := range goroutines {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				at := time.Now()
				if err := f(ctx); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(s.used(b)-before)/float64(b.N), "cpu-ns/op")
	all := slices.Concat(took...)
	if len(all) == 0 { // all have failed
		return
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
}

// used is the processor time of this process and of the server.
func (s *Server) used(tb testing.TB) time.Duration {
	tb.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		tb.Fatal(err)
	}
	sum := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	info, err := s.info("cpu")
	if err != nil {
		tb.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			sum += time.Duration(seconds * float64(time.Second))
			found++
		}
	}
	if found != 2 {
		tb.Fatalf("INFO cpu of redis-server has no processor time: %q", info)
	}
	return sum
}

// info is what the command INFO answers for a section.
func (s *Server) info(section string) (string, error) {
	conn, err := (&net.Dialer{Timeout: 100 * time.Millisecond}).DialContext(context.Background(), "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // it was only for this
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err = fmt.Fprintf(conn, "INFO %s\r\nQUIT\r\n", section); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(conn)
	return string(reply), err
}
