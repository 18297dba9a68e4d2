// Package sdktest is what the tests of the example programs with an SDK have in
// common. A provider's answers are written down as an [Answer] each, a [Suite]
// says how its SDK is called, and the suite's methods read the answers by it,
// with a headrace.Transport and without.
//
// A Suite gets the Transport made: this package stands below it.
package sdktest
