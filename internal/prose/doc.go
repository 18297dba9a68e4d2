// Package prose checks the wording of the repository: the pages (*.md) and the
// comments of all Go modules.
//
// It counts two things. Person words ("whoever", "nobody") usually stand for a
// process, a caller or a value, and are bounded per 1,000 words. Phrases are
// expressions for which the field has a common word, and each hit is a failure.
// Code, quoted identifiers, generated files and testdata are not counted.
package prose
