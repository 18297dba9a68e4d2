// Package law drives our control laws in a simulated world, through the public
// API of package adaptive and in the order in which throttle.Limiter calls it:
// Admit before each send and after each answer, OnSend, OnResult, and Slack
// when no call waits.
package law
