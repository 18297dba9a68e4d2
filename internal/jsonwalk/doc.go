// Package jsonwalk reads JSON that comes from outside: whole, or in pieces as it
// passes by.
//
// A [Walker] is fed pieces of any size and reports the members of the objects
// that its [Visitor] enters, with their path. Everything else is skipped by
// looking at quotes and brackets only, so that a member of the same name inside
// a text, a list or a skipped object is never reported. A [Cursor] takes a text
// that is in memory apart, value by value.
//
// Both use a bounded amount of memory, accept any bytes, and validate only what
// they need: what is not JSON yields nothing, or ends where it stops to make sense.
//
// encoding/json is not used because its Decoder pulls from a reader, buffers
// each text whole (an image may be 50 MB) and ends at the first error.
package jsonwalk
