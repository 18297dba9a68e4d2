// Package chart draws what a simulated run looked like: one SVG of panels over
// the same time, with what the provider admitted against its true limit, the
// learned pace, the calls in flight against the window, and the refusals.
//
// The same run makes the same bytes. Colours are of a middle tone, so that a
// picture can be read on a light page and on a dark one.
package chart
