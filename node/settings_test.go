package node_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

type batch = *node.Batch[node.None, int, int]

func TestInvalidSettingsAreNamed(t *testing.T) {
	lim := newGuard(t, guard.Policy{Name: "shared"})
	var nilLaw *brokenLaw
	for name, tc := range map[string]struct {
		set    func(b batch)
		fields []string
	}{
		"none":                 {func(batch) {}, nil},
		"parallel":             {func(b batch) { b.WithParallel(0) }, []string{"WithParallel"}},
		"negative parallel":    {func(b batch) { b.WithParallel(-3) }, []string{"WithParallel"}},
		"window":               {func(b batch) { b.WithWindow(0) }, []string{"WithWindow"}},
		"negative window":      {func(b batch) { b.WithWindow(-1) }, []string{"WithWindow"}},
		"unbounded parallel":   {func(b batch) { b.WithParallel(math.MaxInt) }, []string{"WithParallel"}},
		"unbounded window":     {func(b batch) { b.WithWindow(math.MaxInt) }, []string{"WithWindow"}},
		"unbounded lookahead":  {func(b batch) { b.WithLookahead(math.MaxInt) }, []string{"WithLookahead"}},
		"window and parallel":  {func(b batch) { b.WithWindow(3).WithParallel(4) }, []string{"WithWindow"}},
		"window as parallel":   {func(b batch) { b.WithWindow(4).WithParallel(4) }, nil},
		"grace":                {func(b batch) { b.WithGrace(-1) }, []string{"WithGrace"}},
		"item timeout":         {func(b batch) { b.WithTimeout(0) }, []string{"WithTimeout"}},
		"limits":               {func(b batch) { b.WithLimits(concurrency(-1)) }, []string{"Concurrency"}},
		"window of the limits": {func(b batch) { b.WithLimits(throttle.Limits{Windows: make([]throttle.Window, 1)}) }, []string{"Windows[0]"}},
		"law":                  {func(b batch) { b.With(guard.Policy{Law: adaptive.AIMD{Backoff: 2}}) }, []string{"Backoff"}},
		"law of a nil pointer": {func(b batch) { b.With(guard.Policy{Law: nilLaw}) }, []string{"Law"}},
		"nil guard":            {func(b batch) { b.Within(nil) }, []string{"Within"}},
		"guard and limits":     {func(b batch) { b.Within(lim).WithLimits(concurrency(1)) }, nil},
		"guard and all": {func(b batch) {
			b.With(guard.Policy{Within: []*guard.Guard{lim}, Law: adaptive.AIMD{}}).WithPreset(presets.GenericModerate)
		}, nil},
		"policy in front of its fields": {func(b batch) { b.With(guard.Policy{}).With(guard.Policy{Timeout: 1}).WithRetry(retry.Policy{}) }, nil},
		"policy in place of its fields": {func(b batch) { b.Within(lim).WithRetry(retry.Policy{}).WithParallel(2).With(guard.Policy{}) }, []string{"With"}},
		"share":                         {func(b batch) { b.With(guard.Policy{Share: 1.5}) }, []string{"Share"}},
		"empty preset":                  {func(b batch) { b.WithPreset("") }, []string{"WithPreset"}},
		"tokens":                        {func(b batch) { b.WithLimits(tokens(1)) }, []string{"Limits"}},
		"tokens of a preset": {
			func(b batch) { b.With(guard.Policy{Preset: presets.OpenAITier1, Law: adaptive.AIMD{}}) },
			[]string{"Limits"},
		},
		"tokens that are counted": {func(b batch) {
			b.WithLimits(tokens(100)).WithCost(func(int) throttle.Cost { return throttle.Cost{Tokens: 1} })
		}, nil},
		"tokens of a preset where learning starts": {func(b batch) { b.WithPreset(presets.OpenAITier1) }, nil},
		"lookahead": {func(b batch) { b.WithLookahead(0) }, []string{"WithLookahead"}},
		"retry": {
			func(b batch) { b.WithRetry(retry.Policy{MaxAttempts: -1, Initial: -1}) },
			[]string{"MaxAttempts", "Initial"},
		},
		"nil functions": {
			func(b batch) { b.WithKey(nil).WithCost(nil).WithUsed(nil).WithFallback(nil).WithinOf(nil) },
			[]string{"WithKey", "WithCost", "WithUsed", "WithFallback", "WithinOf"},
		},
		"everything": {
			func(b batch) {
				b.WithParallel(0).WithWindow(-1).WithGrace(-1).WithTimeout(-1).WithLimits(concurrency(-1)).
					Within(nil).WithRetry(retry.Policy{MaxAttempts: -1}).WithKey(nil)
			},
			[]string{
				"WithParallel", "WithWindow", "WithGrace", "WithTimeout", "Concurrency",
				"Within", "MaxAttempts", "WithKey",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := node.Map("m", func(_ context.Context, i int) (int, error) {
				if tc.fields != nil {
					t.Error("Exec was called")
				}
				return i, nil
			})
			tc.set(b)
			assertProblems(t, b.Validate(), tc.fields...)
			_, err := b.All(t.Context(), numbers(3))
			assertProblems(t, err, tc.fields...)
			_, err = b.Run(t.Context(), node.None{})
			assertProblems(t, err, tc.fields...)
		})
	}
}

type brokenLaw struct{}

func (*brokenLaw) Start(time.Time, uint64) (adaptive.State, error) { return nil, errors.New("broken") }

func TestProblemsNameTheNodeAndTheSetting(t *testing.T) {
	err := node.Map("m", same).WithParallel(-2).With(guard.Policy{Limits: concurrency(-1), Law: &brokenLaw{}}).Validate()
	for _, want := range []string{
		`node "m": WithParallel: -2 is below 1`,
		`node "m": policy: guard "m": Limits: throttle: Concurrency: -1 is negative`,
		`node "m": policy: guard "m": Law: `,
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorContains(t, err, "broken")
}

func TestNilParts(t *testing.T) {
	prep, exec := feed(1), same
	assertProblems(t, node.BatchFunc[*state, int, int]("b", nil, exec, nil).Validate(), "prep")
	assertProblems(t, node.BatchFunc[*state, int, int]("b", prep, nil, nil).Validate(), "exec")
	assertProblems(t, node.BatchFunc[*state, int, int]("", nil, nil, nil).Validate(), "name", "prep", "exec")
	assertProblems(t, node.Map[int, int]("m", nil).Validate(), "exec")
	assertProblems(t, node.Map("", same).Validate(), "name")
	var typed *validated
	for _, b := range []*node.Batch[*state, int, int]{
		node.NewBatch[*state, int, int]("b", nil),
		node.NewBatch[*state, int, int]("b", typed),
	} {
		assertProblems(t, b.Validate(), "handler")
		_, err := b.Run(t.Context(), &state{})
		assertProblems(t, err, "handler")
		_, err = b.All(t.Context(), []int{1})
		assertProblems(t, err, "handler")
	}
}

// They have no workers, so a run would not end.
func TestZeroValuesFail(t *testing.T) {
	var b node.Batch[*state, int, int]
	_, err := b.All(t.Context(), []int{1})
	assertProblems(t, err, "constructor")
	for _, err := range b.Stream(t.Context(), node.Slice([]int{1})) {
		assertProblems(t, err, "constructor")
	}
	var s node.Step[*state]
	_, err = s.Run(t.Context(), nil)
	assertProblems(t, err, "constructor")
}

func TestSettingsAreFrozenByTheFirstRun(t *testing.T) {
	for name, tc := range map[string]struct {
		set   func(b batch)
		field string
	}{
		"parallel":  {func(b batch) { b.WithParallel(2) }, "WithParallel"},
		"window":    {func(b batch) { b.WithWindow(9) }, "WithWindow"},
		"grace":     {func(b batch) { b.WithGrace(1) }, "WithGrace"},
		"timeout":   {func(b batch) { b.WithTimeout(time.Hour) }, "WithTimeout"},
		"limits":    {func(b batch) { b.WithLimits(concurrency(1)) }, "WithLimits"},
		"guard":     {func(b batch) { b.Within(newGuard(t, guard.Policy{})) }, "Within"},
		"guards":    {func(b batch) { b.WithinOf(func(int) *guard.Guard { return nil }) }, "WithinOf"},
		"lookahead": {func(b batch) { b.WithLookahead(3) }, "WithLookahead"},
		"policy":    {func(b batch) { b.With(guard.Policy{}) }, "With"},
		"preset":    {func(b batch) { b.WithPreset(presets.OpenAITier1) }, "WithPreset"},
		"retry":     {func(b batch) { b.WithRetry(retry.Policy{}) }, "WithRetry"},
		"fallback":  {func(b batch) { b.WithFallback(func(context.Context, int, error) (int, error) { return 0, nil }) }, "WithFallback"},
		"on error":  {func(b batch) { b.WithOnError(node.FailFast()) }, "WithOnError"},
		"unordered": {func(b batch) { b.Unordered() }, "Unordered"},
		"key":       {func(b batch) { b.WithKey(func(int) string { return "" }) }, "WithKey"},
		"cost":      {func(b batch) { b.WithCost(func(int) throttle.Cost { return throttle.Cost{} }) }, "WithCost"},
		"used":      {func(b batch) { b.WithUsed(func(int, int) throttle.Cost { return throttle.Cost{} }) }, "WithUsed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := node.Map("m", same)
			require.NoError(t, b.Validate(), "validating freezes nothing")
			tc.set(b)
			_, err := b.All(t.Context(), numbers(2))
			require.NoError(t, err)
			tc.set(b)
			for range 2 {
				_, err = b.All(t.Context(), numbers(2))
				assertProblems(t, err, tc.field)
				assert.ErrorContains(t, err, "first run")
			}
			for _, err := range b.Stream(t.Context(), feedNever(t)) {
				assertProblems(t, err, tc.field)
			}
		})
	}
}

// A late change is an error of the runs that follow, and no race with those
// that are under way.
func TestChangeDuringARun(t *testing.T) {
	b := node.Map("m", same).WithParallel(3).WithLimits(concurrency(2))
	var running sync.WaitGroup
	for _, err := range b.Stream(t.Context(), node.Slice(numbers(200))) {
		require.NoError(t, err, "the run goes on")
		running.Go(func() { b.WithParallel(9).WithLimits(concurrency(9)).WithFallback(nil) })
	}
	running.Wait()
	_, err := b.All(t.Context(), numbers(1))
	assert.ErrorContains(t, err, "WithFallback")
}

// A guard that was handed out does not change.
func TestSettingsAfterTheGuardWasMade(t *testing.T) {
	b := node.Map("m", same).WithLimits(concurrency(2))
	require.Equal(t, 2, b.Guard().Stats().Limits.Concurrency)
	b.WithLimits(concurrency(3)).With(guard.Policy{}).WithParallel(4).WithPreset(presets.OpenAITier1)
	_, err := b.All(t.Context(), numbers(2))
	assertProblems(t, err, "WithLimits", "With", "WithPreset")
	assert.Equal(t, 2, b.Guard().Stats().Limits.Concurrency)
}

func TestGuardOfInvalidSettings(t *testing.T) {
	assert.Nil(t, node.Map("m", same).WithLimits(concurrency(-1)).Guard())
}

// With replaces the policy, and later settings change fields of it.
func TestPolicyOfANode(t *testing.T) {
	lim := newGuard(t, guard.Policy{Name: "shared"})
	within := []*guard.Guard{lim}
	b := node.Map("m", same).WithLimits(concurrency(9)).WithTimeout(time.Hour).
		With(guard.Policy{Name: "x", Within: within, Timeout: time.Minute, Limits: concurrency(2), Propagate: true}).
		WithRetry(retry.Policy{MaxAttempts: 7}).Within(lim)
	within[0] = nil
	p := b.Guard().Policy()
	assert.Equal(t, guard.Policy{
		Name: "x", Within: []*guard.Guard{lim, lim}, Timeout: time.Minute, Limits: concurrency(2),
		Retry: &retry.Policy{MaxAttempts: 7}, Propagate: true,
	}, p)
}

func TestConcurrentFirstRunsOfABadNode(t *testing.T) {
	for range 200 { // it depends on the order
		b := node.Map("m", same).WithParallel(0)
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				_, err := b.All(t.Context(), numbers(2))
				assertProblems(t, err, "WithParallel")
			})
		}
		running.Wait()
	}
}

// validated is a handler with a configuration of its own.
type validated struct {
	handler
	problem error
	asked   int
}

func (v *validated) Validate() error {
	v.asked++
	return v.problem
}

func TestHandlerIsValidated(t *testing.T) {
	good := &validated{}
	b := node.NewBatch[*state, int, int]("b", good)
	for range 3 {
		_, err := b.Run(t.Context(), &state{})
		require.NoError(t, err)
	}
	assert.Equal(t, 1, good.asked, "once")

	bad := node.NewBatch[*state, int, int]("b", &validated{problem: errBoom}).WithParallel(0)
	_, err := bad.Run(t.Context(), &state{})
	require.ErrorIs(t, err, errBoom)
	assertProblems(t, err, "WithParallel")
}

type panicking struct{ handler }

func (*panicking) Validate() error { panic("validate") }

func TestPanicOfValidateIsAProblem(t *testing.T) {
	b := node.NewBatch[*state, int, int]("b", &panicking{})
	require.ErrorAs(t, b.Validate(), new(*fault.PanicError))
	_, err := b.Run(t.Context(), &state{})
	assert.ErrorAs(t, err, new(*fault.PanicError))
}

// withAll has every optional method.
type withAll struct{ handler }

func (*withAll) Key(int) string              { return "key" }
func (*withAll) Cost(int) throttle.Cost      { return throttle.Cost{Tokens: 5} }
func (*withAll) Used(_, _ int) throttle.Cost { return throttle.Cost{Tokens: 3} }
func (*withAll) Exec(_ context.Context, i int) (int, error) {
	if i == 2 {
		return 0, errBoom
	}
	return i, nil
}
func (*withAll) Fallback(context.Context, int, error) (int, error) { return -1, nil }
func (*withAll) Post(_ context.Context, s *state, r *node.Report[int, int]) (node.Action, error) {
	s.report = r
	return node.Next, nil
}

func TestOptionalMethodsAreUsed(t *testing.T) {
	b := node.NewBatch[*state, int, int]("b", &withAll{}).WithLimits(tokens(10))
	s := &state{}
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []node.Result[int, int]{
		{Index: 0, Key: "key", In: 1, Out: 1, Attempts: 1, State: node.Done},
		{Index: 1, Key: "key", In: 2, Out: -1, Attempts: 1, State: node.Done},
	}, results(s.report))
	lim := b.Guard()
	assert.Equal(t, int64(2), left(t, lim), "3 were used and 5 reserved")
}

func TestSettingGoesBeforeTheMethod(t *testing.T) {
	b := node.NewBatch[*state, int, int]("b", &withAll{}).
		WithKey(func(int) string { return "setting" }).
		WithFallback(func(context.Context, int, error) (int, error) { return -2, nil })
	s := &state{}
	_, err := b.Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, "setting", results(s.report)[0].Key)
	assert.Equal(t, []int{1, -2}, s.report.Values())
}

// valued is a handler by value.
type valued struct {
	node.Defaults[*state, int, int]
}

func (valued) Prep(context.Context, *state) (iter.Seq2[int, error], error) { return nil, nil }
func (valued) Exec(_ context.Context, i int) (int, error)                  { return i, nil }

type (
	wrongKey      struct{ valued }
	wrongCost     struct{ valued }
	wrongUsed     struct{ valued }
	wrongFallback struct{ valued }
	wrongValidate struct{ valued }
	csot          struct{ valued }
	keys          struct{ valued }
	fallBack      struct{ valued }
	userd         struct{ valued }
	validates     struct{ valued }
	onPointer     struct{ valued }
	ordinary      struct{ valued } //nolint:recvcheck // both kinds are looked at
)

func (wrongKey) Key() string                                       { return "" }
func (wrongCost) Cost(int) int                                     { return 0 }
func (wrongUsed) Used(int) throttle.Cost                           { return throttle.Cost{} }
func (wrongFallback) Fallback(context.Context, int) (int, error)   { return 0, nil }
func (wrongValidate) Validate(context.Context) error               { return nil }
func (csot) Csot(int) throttle.Cost                                { return throttle.Cost{} }
func (keys) Keys(int) string                                       { return "" }
func (fallBack) FallBack(context.Context, int, error) (int, error) { return 0, nil }
func (userd) Userd(int, int) throttle.Cost                         { return throttle.Cost{} }
func (validates) Valdiates() error                                 { return nil }
func (*onPointer) Key(int) string                                  { return "" }
func (*onPointer) Kye(int) string                                  { return "" }
func (ordinary) Close() error                                      { return nil }
func (ordinary) Flush() error                                      { return nil }
func (ordinary) Invalidate()                                       {}
func (ordinary) User(int) string                                   { return "" }
func (ordinary) Keys() []string                                    { return nil }
func (ordinary) Get(int) string                                    { return "" }
func (ordinary) Hex(int) string                                    { return "" }
func (ordinary) Costs() throttle.Cost                              { return throttle.Cost{} }
func (ordinary) Rollback(context.Context, int, error) error        { return nil }
func (ordinary) String() string                                    { return "" }
func (*ordinary) Price(int) throttle.Cost                          { return throttle.Cost{} }
func (*ordinary) Charge(int) throttle.Cost                         { return throttle.Cost{} }

func TestOptionalMethodsThatWouldNeverBeCalled(t *testing.T) {
	for _, tc := range []struct {
		handler node.BatchHandler[*state, int, int]
		fields  []string
		text    string
	}{
		{wrongKey{}, []string{"Key"}, "func() string, which is never called: it has to be func(int) string"},
		{&wrongKey{}, []string{"Key"}, "never called"},
		{wrongCost{}, []string{"Cost"}, "it has to be func(int) throttle.Cost"},
		{wrongUsed{}, []string{"Used"}, "it has to be func(int, int) throttle.Cost"},
		{wrongFallback{}, []string{"Fallback"}, "it has to be func(context.Context, int, error) (int, error)"},
		{wrongValidate{}, []string{"Validate"}, "it has to be func() error"},
		{csot{}, []string{"Csot"}, "did you mean Cost?"},
		{keys{}, []string{"Keys"}, "did you mean Key?"},
		{&fallBack{}, []string{"FallBack"}, "did you mean Fallback?"},
		{userd{}, []string{"Userd"}, "did you mean Used?"},
		{validates{}, []string{"Valdiates"}, "did you mean Validate?"},
		{onPointer{}, []string{"Key", "Kye"}, "it belongs to the pointer, so pass a *node_test.onPointer"},
		{&onPointer{}, []string{"Kye"}, "did you mean Key?"},
		{valued{}, nil, ""},
		{ordinary{}, nil, ""},
		{&ordinary{}, nil, ""},
		{&withAll{}, nil, ""},
	} {
		err := node.NewBatch("b", tc.handler).Validate()
		assertProblems(t, err, tc.fields...)
		if tc.fields != nil {
			assert.ErrorContains(t, err, tc.text)
		}
	}
}

type noPool struct{}

func (*noPool) Run(context.Context, throttle.Cost, func(context.Context) error) error { return nil }

func TestANilPoolIsRefused(t *testing.T) {
	for _, p := range []node.Pool{nil, (*noPool)(nil)} {
		assertProblems(t, node.Map("m", same).WithExecutor(p).Validate(), "WithExecutor")
		assertProblems(t, node.Do("s", func(context.Context, node.None) error { return nil }).WithExecutor(p).Validate(), "WithExecutor")
	}
}
