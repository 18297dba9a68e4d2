// Package rival holds what others do about rate limits, from their published
// algorithms, and the oracle that all are measured against.
//
// Those that limit calls in flight retry as the SDKs of the large providers
// do: the item keeps its slot and goes again after Retry-After, or after an
// exponential backoff without one.
package rival
