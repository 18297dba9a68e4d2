package download_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/download"
	"github.com/headrace/headrace/retry"
)

// files serves one file, and breaks the connection in the middle of its first answer.
func files() *httptest.Server {
	first := true
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if first {
			first = false
			w.Header().Set("Content-Length", "26")
			_, _ = w.Write([]byte("abcdefghijklm"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("abcdefghijklmnopqrstuvwxyz"))
	}))
}

// A file with a checksum. Its connection breaks once, which Fetch hides.
func ExampleFetch() {
	server := files()
	defer server.Close()
	client, err := httpclient.New(httpclient.Config{MaxResponse: 20 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()

	sum := sha256.Sum256([]byte("abcdefghijklmnopqrstuvwxyz")) // as it was published
	target := filepath.Join(folder, "alphabet")
	result, err := download.Fetch(context.Background(), client, server.URL, target,
		download.Config{
			Checksum: fmt.Sprintf("sha256:%x", sum),
			Progress: func(p download.Progress) {
				if p.Bytes == p.Total {
					fmt.Println(p.Bytes, "of", p.Total, "bytes")
				}
			},
		})
	fmt.Println(result.Bytes, "bytes by", result.Attempts, "requests:", err)
	text, err := os.ReadFile(target)
	fmt.Println(string(text), err)
	// Output:
	// 26 of 26 bytes
	// 26 bytes by 2 requests: <nil>
	// abcdefghijklmnopqrstuvwxyz <nil>
}

// A request of one's own, with a header. What one call leaves is what the next one goes on from.
func ExampleDo() {
	server := files()
	defer server.Close()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()

	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer me")
	target := filepath.Join(folder, "alphabet")
	_, err = download.Do(server.Client(), req, target, download.Config{Retry: &retry.Policy{MaxAttempts: 1}})
	if failed, ok := errors.AsType[*download.Error](err); ok {
		fmt.Println(failed.Step, failed.Kept, "bytes are kept")
	}
	result, err := download.Do(server.Client(), req, target, download.Config{})
	fmt.Println(result.Bytes, "bytes,", result.Resumed, "of them from before:", err)
	// Output:
	// read 13 bytes are kept
	// 26 bytes, 13 of them from before: <nil>
}

// A checksum that does not fit leaves the file that was there, and nothing else.
func ExampleConfig_checksum() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a file of another program"))
	}))
	defer server.Close()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()

	_, err = download.Fetch(context.Background(), server.Client(), server.URL, filepath.Join(folder, "model"),
		download.Config{Checksum: "sha256:" + strings.Repeat("00", 32)})
	fmt.Println(errors.Is(err, download.ErrChecksum))
	left, err := os.ReadDir(folder)
	fmt.Println(len(left), err)
	// Output:
	// true
	// 0 <nil>
}
