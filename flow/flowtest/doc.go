// Package flowtest tests what a flow does to a provider: which calls it makes,
// when, how long it stays away after a refusal, and what becomes of the items.
//
// A [Record] notes calls and events with their time since its beginning. A
// [Provider] stands for the service that is called, as a function or as an
// http.RoundTripper; a script of [Step]s says how it answers. In a bubble of
// testing/synctest an hour of waiting takes no time, and all times are exact:
//
//	synctest.Test(t, func(t *testing.T) {
//		rec := flowtest.New(t)
//		api := rec.NewProvider("api").At(3, flowtest.Refuse(20*time.Second))
//		ask := node.Map("ask", api.Call).WithRetry(retry.Policy{})
//		_, err := ask.All(rec.Context(), []string{"a", "b", "c", "d"})
//		require.NoError(t, err)
//		require.NoError(t, api.Calls().HeedRetryAfter())
//		require.NoError(t, api.Calls().OnceEach("a", "b", "c", "d"))
//	})
//
// It works for everything that runs under a context: a flow, a single node,
// All, Stream. If the test fails, the timeline of all that happened is logged.
//
// # What is the same in every run
//
// Calls that arrive in the same instant are answered by provider and key, not
// by which goroutine was first, and random latencies depend on nothing but
// provider, key and attempt. Left to the scheduler is only who queues first at
// a limiter when several workers come at once: give the items with [InOrder],
// or use one worker, before you compare a whole timeline. Leave the jitter out
// of the retry policy too, with NoJitter.
//
// The package does not import testing: [New] takes what it needs as a [TB], and
// works without one and outside of a bubble, in real time. Create the Record
// inside of the bubble that uses it.
package flowtest
