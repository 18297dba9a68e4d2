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

// rule is one thing that a policy means, in whatever door.
type rule struct {
	what  string
	cases []string // that every door passes, or lacks with a reason
	tests []string // folder/Test of what only one door can have, or of details
}

func rules() []rule {
	return []rule{
		{
			"a call starts with the same limits in every door",
			[]string{
				"a preset starts with what the provider documents", "a cap on calls in flight", "limits of all layers hold", "a call that can never fit",
			},
			[]string{"guard/TestWhatAPresetBecomes"},
		},
		{"a rate is no bound of calls in flight", []string{"a rate does not bound calls in flight"}, nil},
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
				"a report from inside is the verdict", "the nearest detector judges, for all layers", "a detector's rejection is waited out",
				"a detector that panics knows nothing",
			},
			[]string{"guard/TestWhatIsAskedAboutAnError", "guard/TestThreeLayersOfDetectorsAndLaws"},
		},
		{
			"a rejected call keeps its place, and a retry gets a new one",
			[]string{
				"a 429 is waited out and is no attempt", "a 429 keeps its place", "a 500 is repeated", "a 400 is not", "between attempts nothing is held",
				"what is final is not sent again", "a Retry-After of an hour is the caller's",
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
			"code of users that misbehaves gives everything back",
			[]string{
				"a panic is an error and is not repeated", "a panic is a failure for the breaker", "a panic with nil gives the slot back",
				"a call that exits its goroutine gives the slot back",
			},
			[]string{"guard/TestGoexitInADetectorReturnsTheSlots", "guard/TestGoexitInAnObserverReturnsEverything", "guard/TestAPanicOfALawReturnsTheSlotsOfAllLayers"},
		},
		{
			"a call that hangs is abandoned",
			[]string{
				"a call that ignores its timeout is abandoned", "a call that hung is not repeated, and its breakers hear of it",
			},
			[]string{"guard/TestACallThatHangs"},
		},
		{"settings are inherited from the nearest guard", []string{"settings are inherited", "the nearest setting counts"}, nil},
		{"a rejection takes effect with its header", []string{"a 429 takes effect with its header"}, []string{"guard/TestHold", "./TestARejectionThatDrips"}},
		{
			"a RetryAfter can be waited for",
			[]string{
				"a try without room is told when there is some", "a try without a slot is told how long calls take",
				"a try takes from all layers or none", "a try makes one attempt", "MaxQueue turns calls away",
			},
			[]string{"guard/TestRetryAfterIsADayAtMost", "executor/TestRetryAfterOfAFullQueue"},
		},
		{
			"a wait has a bound, and a hopeless one does not begin",
			[]string{
				"a deadline before the earliest admission fails at once", "a context that ends while the call waits",
				"MaxWait bounds the first admission", "MaxWait bounds the wait after a 429",
			},
			[]string{"guard/TestADeadlineTooNearToBeSentAgain"},
		},
		{"a call takes from all its layers at one instant", []string{"a call that waits for its key holds nothing"}, []string{"guard/TestProgramsExceedAndLeakNothing"}},
		{"calls with the same layers are served in order", []string{"calls of one key are served in order"}, nil},
		{"keys share the layers outside evenly", []string{"keys share the outer limit evenly"}, nil},
		{"no call is overtaken for ever", []string{"a call that needs two limits is not overtaken for ever"}, []string{"throttle/TestNoSetOfLimitersStarves"}},
		{
			"one guard learns, and a used-up quota closes it alone",
			[]string{
				"a 429 is learned outside", "a used-up quota stops other calls, and is probed", "a used-up quota closes the guard that it is of",
			},
			[]string{"guard/TestWhichOfSeveralGuardsLearns"},
		},
		{"a guard that is reached twice counts once", []string{"a guard that is reached twice counts once"}, nil},
		{
			"a store is asked once for each call, and hears what comes of it",
			[]string{
				"limits are shared through a store", "two layers of a store are asked at once", "a refused call has MaxWait and a deadline",
				"a slot of a store is given back", "a Retry-After goes to the store", "a store that is down fails the call",
			},
			[]string{"guard/TestOneTakeForAllLayers", "guard/TestAStoreThatCannotBeUsed"},
		},
		{"a call that waits occupies no worker", []string{"a call that waits occupies no worker"}, []string{"node/TestLookaheadBoundsWhatIsTaken", "executor/TestTheLookaheadIsBounded"}},
		{"policies are checked, and changed in place", nil, []string{"guard/TestNewReportsEveryProblem", "guard/TestSetKeepsThePlaceOfARejectedCall"}},
		{"a call inside another needs one slot", nil, []string{"guard/TestNestedCallsUseOneSlot", "guard/TestNestedCallsUseOneTicket"}},
		{"a rejection is a signal for the calls around", nil, []string{"guard/TestPropagation", "node/TestHitsPropagateToTheEnclosingBatch"}},
	}
}

// Every rule has a case that all doors play, or a test where only one can.
func TestEveryRuleIsTested(t *testing.T) {
	all := slices.Concat(cases(), crowdedCases())
	names := map[string]bool{} // of cases, and whether a rule names them
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

// exists reports whether the tests of a folder have that function.
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
