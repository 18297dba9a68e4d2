package executor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// What can be done to the queue, as porcupine sees it.
type (
	input struct {
		op       byte // p: TrySubmit, t: a worker takes, c: Cancel
		task     int
		priority int
	}
	output struct {
		ok   bool
		task int // that was taken
	}
	// waiting is a task in the model's queue, which is a list in the order in which it is given out.
	waiting struct{ task, priority int }
)

// sequential is a bounded queue by priority that one does something to at a time.
func sequential(capacity int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []waiting(nil) },
		Step: func(state, in, out any) (bool, any) {
			q, i, o := state.([]waiting), in.(input), out.(output)
			at := slices.IndexFunc(q, func(w waiting) bool { return w.task == i.task })
			switch i.op {
			case 'p':
				if len(q) == capacity || !o.ok {
					return !o.ok && len(q) == capacity, q
				}
				n := slices.IndexFunc(q, func(w waiting) bool { return w.priority < i.priority })
				if n < 0 {
					n = len(q)
				}
				return true, slices.Insert(slices.Clone(q), n, waiting{i.task, i.priority})
			case 't':
				if len(q) == 0 {
					return !o.ok, q
				}
				return o.ok && q[0].task == o.task, slices.Clone(q[1:])
			default:
				if at < 0 {
					return !o.ok, q
				}
				return o.ok, slices.Delete(slices.Clone(q), at, at+1)
			}
		},
		Equal:             func(a, b any) bool { return slices.Equal(a.([]waiting), b.([]waiting)) },
		DescribeOperation: func(in, out any) string { return fmt.Sprint(in, out) },
	}
}

// Whatever many goroutines do at once, the queue does one after the other.
func TestTheQueueIsLinearizable(t *testing.T) {
	const clients, each, capacity = 6, 12, 4
	for round := range 30 {
		x, err := New(Config{Queue: capacity, Concurrency: 1})
		require.NoError(t, err)
		x.phase, x.slots.most = running, 0 // without workers: the clients are those
		begun := time.Now()
		var mu sync.Mutex
		var history []porcupine.Operation
		var all []*record
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(c)))
				w := &worker{task: new(record)}
				for n := range each {
					in, out := input{op: "pptc"[rnd.IntN(4)], task: c*each + n, priority: [...]int{0, 0, 1, -1}[rnd.IntN(4)]}, output{}
					var victim *record
					if in.op == 'c' {
						mu.Lock()
						if len(all) > 0 {
							victim = all[rnd.IntN(len(all))]
							in.task = victim.extra.request.number()
						} else {
							in.task = -1
						}
						mu.Unlock()
					}
					call := time.Since(begun).Nanoseconds()
					switch in.op {
					case 'p':
						var task *Task[int]
						task, err := TrySubmit(t.Context(), x, value(1), WithPriority(in.priority),
							WithRequest(strconv.Itoa(in.task), "", nil, nil))
						if out.ok = err == nil; out.ok {
							mu.Lock()
							all = append(all, &task.record)
							mu.Unlock()
						}
					case 't':
						if task := x.poll(w); task != nil {
							out = output{true, task.extra.request.number()}
						}
					case 'c':
						out.ok = victim != nil && x.unqueue(victim)
					}
					end := time.Since(begun).Nanoseconds()
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: c, Input: in, Output: out, Call: call, Return: end})
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.True(t, porcupine.CheckOperations(sequential(capacity), history), "round %d", round)
	}
}

// number is what the test has written into the request.
func (r *request) number() (n int) {
	_, _ = fmt.Sscan(r.method, &n)
	return n
}

// poll is what a worker does to the queue.
func (x *Executor) poll(w *worker) *record {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.nextAtHandLocked(w); t != nil {
		return t
	}
	x.mergeLocked()
	defer x.partLocked()
	t := x.queue.head()
	if t != nil {
		x.outLocked(t)
	}
	return t
}
