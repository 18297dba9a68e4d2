// Package download fetches a file by HTTP, so that the file is there whole or not at all.
//
//	client, err := httpclient.New(httpclient.Config{MaxResponse: 20 << 30, Gate: &httpclient.Gate{}})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	result, err := download.Fetch(ctx, client.Following(httpclient.Follow{}), "https://example.com/model.bin", "model.bin",
//		download.WithChecksum("sha256:..."))
//
// # What is promised
//
// The body goes to a file beside the target, which is synced to the disk and then renamed.
// Under the target's name there is never anything but a whole file; one that was there before survives
// every failure. A file is made of the bytes of one version only.
//
// Another call with the same URL and target goes on where the last one ended, also if its process was
// killed or the machine lost power; at most the last 16 MiB or 2 s are fetched again. A connection that breaks is
// made up for in the same call, by the policy of [WithRetry].
//
// # When a download goes on
//
// Only if the server named the version strongly (RFC 9110, section 13.1.5): by a strong ETag, or without any ETag by a
// Last-Modified that was a minute old by the server's own Date. The rest is asked for with
// If-Range, and taken only if the answer names the same version, the right range and the same length. The
// last byte that is there is asked for again and compared, so that a file that is there
// whole is answered like any other. Whatever does not fit makes the download start anew.
//
// # Redirects
//
// Many sites redirect a download to another host. An [httpclient.Client] by itself follows nothing, and the download fails and says so;
// [httpclient.Client.Following] goes from hop to hop through Config.Gate, and takes no credential to another origin.
//
// # Limits of the client
//
// [httpclient.Config] bounds each body to 64 MiB and each attempt to 10 minutes unless it says otherwise: give downloads a
// client of their own, with a larger MaxResponse. When Timeouts.Call ends an attempt the download goes
// on in another one, if the server allows; NoCall leaves the time to Timeouts.BodyIdle and the context. An *http.Client has
// no bounds at all: give it [WithMaxBytes] and a context with a deadline. Over HTTP/1, a body with neither a length nor chunks
// ends with its connection, so that nobody can see that it was cut off: only [WithChecksum] does.
//
// # Files
//
// Beside "name" there are ".name.part", the bytes, and ".name.part.json", the version that they
// belong to and the lock; a name of more than 200 bytes is its SHA-256 there. Both are gone after a success, and after a failure that leaves
// nothing to go on from. Of two calls with one target at a time, in one process or
// several, the second fails with [ErrBusy]; on Solaris, AIX and in WebAssembly keeping
// them apart is up to the caller.
package download
