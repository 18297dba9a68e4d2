package emit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

type noter struct {
	j    *journal
	name string
}

func (n *noter) Observe(e event.Event) { *n.j = append(*n.j, n.name+":"+e.Source) }

func TestExcept(t *testing.T) {
	var j journal
	a, b, c, f := &noter{&j, "a"}, &noter{&j, "b"}, &noter{&j, "c"}, j.as("f")
	for _, x := range []struct {
		o, others event.Observer
		want      string
	}{
		{nil, nil, ""},
		{nil, a, ""},
		{a, nil, "a:"},
		{a, b, "a:"},
		{a, a, ""},
		{a, event.Tee(b, a), ""},
		{event.Tee(a, b, c), event.Tee(b, f), "a:c:"},
		{event.Tee(a, b), event.Tee(b, f, a), ""},
		{event.Tee(a, b), nil, "a:b:"},
		{event.Tee(a, b), a, "b:"},
		{f, f, "f:"},
	} {
		j = nil
		o := emit.Except(x.o, x.others)
		emit.Send(o, event.Event{})
		assert.Equal(t, x.want, strings.Join(j, ""), "%v without %v", x.o, x.others)
		assert.Equal(t, x.want == "", o == nil)
	}
	both, others := event.Tee(a, b), event.Tee(c, f)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if emit.Except(both, others) != both || emit.Except(a, others) == nil {
			t.Fail()
		}
	}))
}
