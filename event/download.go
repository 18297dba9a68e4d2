package event

import "log/slog"

// Downloads. Source is the host.
const (
	// DownloadFetch: a download ended after Attempt requests and Wait, with Err if there is no
	// file. Event.Download has more. Each request is a NetRequest besides.
	DownloadFetch Kind = "download.fetch"
)

// Download is the detail of a [DownloadFetch]. It is immutable.
type Download struct {
	// Target is the name of the file, without its directory.
	Target string
	// Requests are the IDs of the last 100 requests, in order; empty if the client emits none.
	Requests []string
	// Bytes is the length of the file, or of what is there after a failure.
	Bytes int64
	// Resumed is how many of Bytes are from an earlier call.
	Resumed int64
	// Checksum is "sha256:" and hexadecimal digits, or alike; empty after a failure.
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
