package telemetry

import (
	"context"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/event"
)

// downloads are the instruments for event.DownloadFetch.
type downloads struct {
	duration metric.Float64Histogram
	size     metric.Int64Histogram
	hosts    *memory[string, string] // by themselves
	labels   *memory[download, *labels]
}

// newDownloads has boundaries that are chosen by judgement: up to an hour, and up to 16 GiB.
func newDownloads(m *maker, maxNames int) *downloads {
	return &downloads{
		duration: m.seconds("headrace.download.duration", "Duration of downloads.",
			0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
		size: m.numbers("headrace.download.size", "By", "Size of what downloads fetched.",
			0, 64<<10, 256<<10, 1<<20, 4<<20, 16<<20, 64<<20, 256<<20, 1<<30, 4<<30, 16<<30),
		hosts:  newMemory(maxNames, func(host string) string { return host }),
		labels: newMemory(maxLabels, download.labels),
	}
}

func (d *downloads) observe(e event.Event) {
	if e.Download == nil {
		return
	}
	host, kept := d.hosts.kept(hostname(e.Source))
	if !kept {
		host = other
	}
	ctx := context.Background()
	l := d.labels.get(download{host, errorType(e.Err)})
	d.duration.Record(ctx, e.Wait.Seconds(), l.record...)
	d.size.Record(ctx, max(0, e.Download.Bytes-e.Download.Resumed), l.record...)
}

// download is what downloads with the same attributes have in common.
type download struct{ host, failure string }

func (d download) labels() *labels {
	attrs := []attribute.KeyValue{attribute.String("server.address", d.host)}
	if d.failure != "" {
		attrs = append(attrs, attribute.String("error.type", d.failure))
	}
	return newLabels(attrs...)
}

// hostname is host in lower case, without its port and brackets.
func hostname(host string) string {
	u := url.URL{Host: host}
	return strings.ToLower(u.Hostname())
}
