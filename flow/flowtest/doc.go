// Package flowtest tests what a flow does to a provider: which calls it makes,
// when, and what becomes of the items. The guide is docs/testing.md.
//
// A Record collects calls and events. A Provider simulates the service that is
// called, as a function or as an http.RoundTripper; a script of Steps sets its
// answers. In a bubble of testing/synctest waiting takes no time and all times
// are exact:
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
// Create the Record inside the bubble. To compare a whole timeline, use one
// worker or InOrder, and a retry policy with NoJitter.
//
// The package does not import testing: New accepts a TB, or nil outside of a
// test, and works in real time outside of a bubble.
package flowtest
