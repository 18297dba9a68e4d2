// Package oracle judges after the fact whether limits were kept. It reads logs
// of what was admitted, or of what arrived at a server, and shares no code with
// whatever enforced the limits, so that it can be the second opinion in tests.
//
// [Auditor] judges a stream: it remembers what lies inside the longest window,
// so hundreds of millions of entries can be judged while they are made. [Judge]
// reads a finished log and works every sum out from the whole of it. Both give
// the same verdict on a well-formed log; Judge also notices more given back
// than was taken when the window has long forgotten it.
//
// All decisions are made in whole numbers. A bucket's level is an exact 128-bit
// fraction: a third of a unit per second does not drift, not in a century.
//
// # What is legal
//
// An entry is judged at its place in the log, with the limits in force there
// and with what had been given back by then. The log's order decides between
// entries of one instant. Only admissions are judged, and by the rules of units
// that they take something of; a debit counts for the admissions after it. For
// a log without debits and changes of rules that comes to: no interval anywhere
// holds more than its limit. [Settled] gives the other view, of what was never
// used in the end.
package oracle
