package event

import "log/slog"

// What downloads tell. Source is the host that was asked.
const (
	// DownloadFetch: the fetching of a file ended. Attempt is how many requests were
	// made for it, Wait how long it took, Err why there is no file, and Event.Download the
	// rest. There is one for each call that began; its requests are told as a NetRequest each.
	DownloadFetch Kind = "download.fetch"
)

// Download is what a [DownloadFetch] tells besides. Nobody changes it after it was sent.
type Download struct {
	// Target is the name of the file, without its folder.
	Target string
	// Requests holds the Request.ID of the last 100 requests, in their order. It is empty if
	// the client tells no [NetRequest].
	Requests []string
	// Bytes is how long the file is, or how much of it is there after a failure.
	Bytes int64
	// Resumed is how many of Bytes an earlier call had left.
	Resumed int64
	// Checksum is the file's, such as "sha256:" and hexadecimal digits; empty after a failure.
	Checksum string
}

// attrs leaves out what the download does not have.
func (d *Download) attrs(as []slog.Attr) []slog.Attr {
	if d.Target != "" {
		as = append(as, slog.String("target", d.Target))
	}
	if len(d.Requests) > 0 {
		as = append(as, slog.Any("requests", d.Requests))
	}
	as = append(as, slog.Int64("bytes", d.Bytes), slog.Int64("resumed", d.Resumed))
	if d.Checksum != "" {
		as = append(as, slog.String("checksum", d.Checksum))
	}
	return as
}
