// Package questions is what the example programs with an SDK have in common: it
// asks many questions at once, reports progress, and compares the outcome with
// the provider's own ledger. What a program itself shows, its client
// and its calls, is an [Ask].
package questions
