// Package client is the demand of one simulated run: processes that know
// nothing of each other call one provider, each through a policy that says
// when the next call may go.
//
// A process always has another item to send, except in the pauses of an on-off
// demand. An item that was refused is first in line again, or its policy keeps
// it in its slot for a while as SDKs do; none is ever lost. [Run] plays one
// world to its end and returns what each process got.
package client
