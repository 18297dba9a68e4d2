// Package questions is what the example programs with an SDK have in common: it
// asks many questions at once, tells how far it is, and compares what came of
// them with the provider's own ledger. What a program itself shows, its client
// and its calls, is an [Ask].
package questions
