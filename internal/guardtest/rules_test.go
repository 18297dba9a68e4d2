package guardtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rule is one thing that a policy means in every door.
type rule struct {
	what  string
	cases []string // that every door passes, unless its Lacks has a reason
	tests []string // folder/Test, for details and for what only one door can have
}

func rules() []rule {
	return []rule{
		{
			"a call starts with the same limits in every door",
			[]string{
				"a preset starts with what the provider documents", "calls in flight are capped", "limits of all layers hold", "a call that can never fit is an error",
			},
			[]string{"guard/TestWhatAPresetBecomes"},
		},
		{"a rate does not bound the calls in flight", []string{"a rate does not bound calls in flight"}, nil},
		{"a stale preset is reported once", []string{"a stale preset is reported once"}, nil},
		{"without limits there is no limiter before the first rejection", []string{"nothing is bounded before the first 429"}, []string{"guard/TestTheFirstRejectionOfManyCalls"}},
		{
			"limits, breakers, timeout, function: in this order",
			[]string{
				"an open breaker undoes the admission", "a breaker opens, and a 429 does not open it", "a timeout bounds each attempt",
			},
			[]string{"guard/TestThreeLayersOfBreakers"},
		},
		{
			"an answer is judged once, for laws and breakers alike",
			[]string{
				"a verdict that the call reports is used", "the nearest detector judges, for all layers", "a detector's rejection is waited out",
				"a detector that panics gives no verdict",
			},
			[]string{"guard/TestWhatIsAskedAboutAnError", "guard/TestThreeLayersOfDetectorsAndLaws"},
		},
		{
			"a rejected call keeps its place, and a retry gets a new one",
			[]string{
				"a 429 is waited out and does not count as an attempt", "a 429 keeps its place", "a 500 is retried", "a 400 is not retried", "nothing is held between attempts",
				"a final response is not retried", "a Retry-After of an hour is returned to the caller",
			},
			[]string{"guard/TestThePlaceOfACallThatIsSentAgain"},
		},
		{
			"what was used is charged, up to one window",
			[]string{
				"usage corrects the reservation", "usage is charged up to one window", "each request on the wire is charged",
			},
			[]string{"guard/TestWireAttemptsAreCharged", "./TestAHiddenResendIsCharged", "cmd/headrace/TestEveryRequestOnTheWirePassesTheLimit"},
		},
		{
			"user code that panics or exits gives everything back",
			[]string{
				"a panic is an error and is not retried", "a panic is a failure for the breaker", "a panic with nil gives the slot back",
				"a call that exits its goroutine gives the slot back",
			},
			[]string{"guard/TestGoexitInADetectorReturnsTheSlots", "guard/TestGoexitInAnObserverReturnsEverything", "guard/TestAPanicOfALawReturnsTheSlotsOfAllLayers"},
		},
		{
			"a call that hangs is abandoned",
			[]string{
				"a call that ignores its timeout is abandoned", "a call that hung is not retried and is a failure for its breakers",
			},
			[]string{"guard/TestACallThatHangs"},
		},
		{"settings are inherited from the nearest guard", []string{"settings are inherited", "the nearest setting counts"}, nil},
		{"a rejection takes effect with its header", []string{"a 429 takes effect with its header"}, []string{"guard/TestHold", "./TestARejectionThatDrips"}},
		{
			"a RetryAfter is a time after which a retry can succeed",
			[]string{
				"a rejected Try returns the time until there is room", "a Try without a free slot returns how long calls take",
				"a Try takes from all layers or from none", "a Try makes one attempt", "MaxQueue turns calls away",
			},
			[]string{"guard/TestRetryAfterIsADayAtMost", "executor/TestRetryAfterOfAFullQueue"},
		},
		{
			"waits are bounded, and a wait that cannot succeed does not begin",
			[]string{
				"a deadline before the earliest admission fails at once", "a context that ends while the call waits",
				"MaxWait bounds the first admission", "MaxWait bounds the wait after a 429", "MaxWait bounds the waits before retries",
			},
			[]string{"guard/TestADeadlineTooNearToBeSentAgain"},
		},
		{"a call takes from all its layers at one instant", []string{"a call that waits for its key holds nothing"}, []string{"guard/TestProgramsExceedAndLeakNothing"}},
		{"calls with the same layers are served in order", []string{"calls of one key are served in order"}, nil},
		{"keys share the layers outside evenly", []string{"keys share the outer limit evenly"}, nil},
		{"no call is overtaken for ever", []string{"a call that needs two limits is not overtaken for ever"}, []string{"throttle/TestNoSetOfLimitersStarves"}},
		{
			"one guard learns, and a used-up quota closes only that guard",
			[]string{
				"a 429 is learned by the outer guard", "a used-up quota stops other calls, and is probed", "a used-up quota closes only the guard it belongs to",
			},
			[]string{"guard/TestWhichOfSeveralGuardsLearns"},
		},
		{"a guard that is reached twice counts once", []string{"a guard that is reached twice counts once"}, nil},
		{
			"a store is asked once for each call and receives the outcome",
			[]string{
				"limits are shared through a store", "two layers with the same store are one request to it", "MaxWait and deadlines bound a call that a store rejects",
				"a slot of a store is given back", "a Retry-After goes to the store", "a store that is down fails the call",
			},
			[]string{"guard/TestOneTakeForAllLayers", "guard/TestAStoreThatCannotBeUsed"},
		},
		{"a call that waits occupies no worker", []string{"a call that waits occupies no worker"}, []string{"node/TestLookaheadBoundsWhatIsTaken", "executor/TestTheLookaheadIsBounded"}},
		{"policies are checked, and changed in place", nil, []string{"guard/TestNewReportsEveryProblem", "guard/TestSetKeepsThePlaceOfARejectedCall"}},
		{"a call inside another needs one slot", nil, []string{"guard/TestNestedCallsUseOneSlot", "guard/TestNestedCallsUseOneTicket"}},
		{"a rejection is a signal for the enclosing calls", nil, []string{"guard/TestPropagation", "node/TestHitsPropagateToTheEnclosingBatch"}},
	}
}

// Every rule has a case that all doors play, or a test of the one door that can have it.
func TestEveryRuleIsTested(t *testing.T) {
	all := slices.Concat(cases(), crowdedCases())
	names := map[string]bool{} // of cases: whether a rule names it
	for _, c := range all {
		names[c.name] = false
	}
	assert.Len(t, names, len(all), "two cases have one name")
	for _, r := range rules() {
		assert.NotEmpty(t, slices.Concat(r.cases, r.tests), r.what)
		for _, name := range r.cases {
			assert.Contains(t, names, name, r.what)
			names[name] = true
		}
		for _, test := range r.tests {
			assert.True(t, exists(t, test), "%s: there is no %s", r.what, test)
		}
	}
	for name, named := range names {
		assert.True(t, named, "no rule names the case %q", name)
	}
}

// exists reports whether the test, such as guard/TestHold, exists.
func exists(t *testing.T, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.Dir(test), "*_test.go"))
	require.NoError(t, err)
	function := regexp.MustCompile(`(?m)^func ` + filepath.Base(test) + `\(`)
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return function.Match(text)
	})
}
