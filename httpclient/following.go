package httpclient

import "net/http"

// Follower is a Client with a Do that follows redirects, for code that takes a Do, such as package download.
// It is safe for concurrent use.
type Follower struct {
	client *Client
	follow Follow
}

// Following returns c with a Do that follows redirects within f. Config.Gate must be set; without it,
// or with an invalid f, every request fails with CodeUnsent.
func (c *Client) Following(f Follow) Follower { return Follower{c, f} }

// Do calls Client.FollowAudited and drops the trail. Close the body of the response.
func (f Follower) Do(req *http.Request) (*http.Response, error) {
	resp, _, err := f.client.FollowAudited(req, f.follow)
	return resp, err
}
