// Package wire converts between package quota and the messages of package ratelimitpb, for both ends of a
// connection.
package wire
