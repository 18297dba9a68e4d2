// Package download fetches a file by HTTP so that the file is there whole or not at all.
//
//	client, err := httpclient.New(httpclient.Config{MaxResponse: 20 << 30, Gate: &httpclient.Gate{}})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	result, err := download.Fetch(ctx, client.Following(httpclient.Follow{}), "https://example.com/model.bin", "model.bin",
//		download.Config{Checksum: "sha256:..."})
//
// The body goes to a file beside the target, which is synced to disk and then renamed. A file that was there before
// survives every failure. A broken connection is resumed in the same call, and a later call with the same URL and
// target resumes what a killed process has left; at most the last 16 MiB or 2 s are fetched again.
//
// A download resumes only if the server identified the version by a strong validator (RFC 9110, section 13.1.5): a
// strong ETag, or, without any ETag, a Last-Modified at least a minute older than the Date of the response. Anything
// that does not match starts the download anew, so that all bytes of a file are of one version.
//
// httpclient.Config bounds each body to 64 MiB and each attempt to 10 minutes unless configured otherwise: use a
// separate client for downloads, with a larger MaxResponse. An *http.Client has no bounds: set Config.MaxBytes and a
// deadline. Over HTTP/1, the end of a body with neither a length nor chunks looks like a broken connection: only
// Config.Checksum detects a truncated one.
//
// The guide docs/http.md covers redirects and the files beside the target.
package download
