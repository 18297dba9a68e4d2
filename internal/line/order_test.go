package line

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// crowd is an order with named clients.
type crowd struct {
	order

	flows map[string]*[classes]flow
	of    map[*item]string
}

func newCrowd() *crowd { return &crowd{flows: map[string]*[classes]flow{}, of: map[*item]string{}} }

func (c *crowd) join(client string, p Priority, weight float64) *item {
	caller := Caller{Weight: weight}
	it := &item{priority: p, share: caller.share()}
	if c.flows[client] == nil {
		c.flows[client] = new([classes]flow)
	}
	c.add(&c.flows[client][p], it)
	c.of[it] = client
	return it
}

// next admits the head and returns its client.
func (c *crowd) next() (client string, p Priority) {
	it := c.head()
	c.admit(it)
	return c.of[it], it.priority
}

func TestWeightsHold(t *testing.T) {
	c := newCrowd()
	weights := map[string]float64{"one": 1, "two": 2, "four": 4, "tenth": 0.1}
	for name, w := range weights {
		for range 2 {
			c.join(name, Batch, w)
		}
	}
	got := map[string]float64{}
	const rounds = 7100
	for range rounds {
		name, _ := c.next()
		got[name]++
		c.join(name, Batch, weights[name])
	}
	for name, w := range weights {
		assert.InEpsilon(t, rounds*w/7.1, got[name], 0.03, name)
	}
}

func TestAClientThatWasAwayHasNoCredit(t *testing.T) {
	c := newCrowd()
	for range 2 {
		c.join("stayed", Interactive, 1)
	}
	for range 1000 {
		c.next()
		c.join("stayed", Interactive, 1)
	}
	for range 100 {
		c.join("away", Interactive, 1)
		c.join("stayed", Interactive, 1)
	}
	got := map[string]int{}
	for range 100 {
		name, _ := c.next()
		got[name]++
	}
	assert.InDelta(t, 50, got["away"], 1)
}

// Names may be made up for each call.
func TestNewClientsDoNotStarveTheOthers(t *testing.T) {
	c := newCrowd()
	for range 100 {
		c.join("old", Interactive, 1)
	}
	old := 0
	c.join("fresh", Interactive, 1)
	c.join("fresh too", Interactive, 1)
	for i := range 100 {
		name, _ := c.next()
		if name == "old" {
			old++
			continue
		}
		c.join(strconv.Itoa(i), Interactive, 1)
	}
	assert.GreaterOrEqual(t, old, 33)
}

func TestBatchGetsOneOfNineteen(t *testing.T) {
	c := newCrowd()
	c.join("b", Batch, 1)
	c.join("b", Batch, 1)
	c.join("i", Interactive, 1)
	batch := 0
	for i := range 1900 {
		_, p := c.next()
		if p == Batch {
			batch++
			assert.Equal(t, batchPart-1, i%batchPart)
		}
		c.join("x", p, 1)
	}
	assert.Equal(t, 100, batch)
}

func TestInteractiveGoesBeforeBatchThatHadItsPart(t *testing.T) {
	c := newCrowd()
	for range 10 {
		c.join("b", Batch, 1000)
	}
	for range 5 {
		_, p := c.next()
		assert.Equal(t, Batch, p)
	}
	c.join("i", Interactive, 0.001)
	_, p := c.next()
	assert.Equal(t, Interactive, p)
}

func TestTheOrderKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCrowd()
		waiting := map[string][]*item{} // by client and class
		var all []*item
		passed := 0
		drop := func(it *item) {
			key := fmt.Sprint(c.of[it], it.priority)
			waiting[key] = slices.DeleteFunc(waiting[key], func(o *item) bool { return o == it })
			all = slices.DeleteFunc(all, func(o *item) bool { return o == it })
		}
		count := func(p Priority) (n int) {
			for _, it := range all {
				if it.priority == p {
					n++
				}
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "client")
				it := c.join(name, rapid.SampledFrom([]Priority{Interactive, Batch}).Draw(t, "priority"), rapid.SampledFrom([]float64{0, 0.1, 1, 7}).Draw(t, "weight"))
				key := fmt.Sprint(name, it.priority)
				waiting[key], all = append(waiting[key], it), append(all, it)
			},
			"next": func(t *rapid.T) {
				it := c.head()
				if it == nil {
					t.Skip()
				}
				require.Same(t, waiting[fmt.Sprint(c.of[it], it.priority)][0], it, "a client's items go in their order")
				switch {
				case it.priority == Batch:
					passed = 0
				case count(Batch) > 0:
					passed++
				}
				require.Less(t, passed, batchPart)
				c.admit(it)
				drop(it)
			},
			"late": func(t *rapid.T) { // it was admitted while another one had become the head
				if len(all) == 0 {
					t.Skip()
				}
				it := rapid.SampledFrom(all).Draw(t, "item")
				if it.priority == Interactive && count(Batch) > 0 {
					t.Skip()
				}
				if it.priority == Batch {
					passed = 0
				}
				c.admit(it)
				drop(it)
			},
			"leave": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				it := rapid.SampledFrom(all).Draw(t, "item")
				c.remove(it)
				drop(it)
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(all), c.len())
				if count(Batch) == 0 {
					passed = 0
				}
				if head := c.head(); len(all) == 0 {
					require.Nil(t, head)
				} else if count(Interactive) == 0 || c.passed >= batchPart-1 {
					require.Equal(t, Batch, head.priority)
				} else {
					require.Equal(t, Interactive, head.priority)
				}
				for p := range c.classes {
					for i, f := range c.classes[p].flows {
						require.Equal(t, i, f.at)
						require.GreaterOrEqual(t, f.due, c.classes[p].flows[0].due)
						require.Greater(t, f.due, f.start)
					}
				}
			},
		})
	})
}

func TestBatchThatComesAnewHasItsPartToWaitFor(t *testing.T) {
	c := newCrowd()
	b := c.join("b", Batch, 1)
	for range batchPart - 1 {
		c.join("i", Interactive, 1)
		c.next()
	}
	assert.Same(t, b, c.head())
	c.remove(b)
	c.join("i", Interactive, 1)
	c.join("b", Batch, 1)
	assert.Equal(t, Interactive, c.head().priority)
}

// It asked for admission before it was in line, behind another one of its client.
func TestACallThatIsAdmittedBeforeItsTurnIsCharged(t *testing.T) {
	c := newCrowd()
	c.join("a", Batch, 1)
	c.admit(c.join("a", Batch, 1))
	for range 2 {
		c.join("b", Batch, 1)
	}
	var order []string
	for range 3 {
		name, _ := c.next()
		order = append(order, name)
	}
	assert.Equal(t, []string{"b", "a", "b"}, order)
}

func TestWeightsAreBounded(t *testing.T) {
	for weight, share := range map[float64]float64{0: 1, -1: 1, math.NaN(): 1, 2: 0.5, 1e-9: 1000, math.Inf(1): 0.001, math.Inf(-1): 1} {
		c := Caller{Weight: weight}
		assert.InEpsilon(t, share, c.share(), 1e-9, weight)
	}
}

func TestThePriorityIsBounded(t *testing.T) {
	_, ticket := New(Config{MaxQueue: -1, MaxWait: -1}).With(t.Context(), Caller{Priority: 200})
	assert.Equal(t, Batch, ticket.caller.Priority)
	assert.Equal(t, DefaultMaxQueue, ticket.lines.maxQueue)
	assert.Equal(t, DefaultMaxWait, ticket.lines.maxWait)
}

func TestTheRateIsThatOfTheLastAdmissions(t *testing.T) {
	var r recent
	_, ok := r.interval(0, time.Minute)
	assert.False(t, ok)
	for i := range 100 {
		r.add(time.Duration(i) * time.Second)
	}
	mean, ok := r.interval(99*time.Second, time.Minute)
	assert.True(t, ok)
	assert.Equal(t, time.Second, mean)
	mean, _ = r.interval(99*time.Second, 10*time.Second)
	assert.Equal(t, time.Second, mean)
	mean, _ = r.interval(130*time.Second, time.Minute)
	assert.Equal(t, time.Minute/29, mean, "none in the last half of the minute")
	mean, _ = r.interval(154*time.Second, time.Minute)
	assert.Equal(t, 12*time.Second, mean)
	_, ok = r.interval(time.Hour, time.Minute)
	assert.False(t, ok)
}
