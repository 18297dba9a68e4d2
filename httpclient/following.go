package httpclient

import "net/http"

// Follower is a [Client] whose Do follows redirects as [Client.FollowAudited] does, for what takes a Do and nothing else, such as
// the package download. It is safe for concurrent use.
type Follower struct {
	client *Client
	follow Follow
}

// Following returns c with a Do that follows redirects within f. Config.Gate must be set; without it, or with an f that cannot be
// used, every request fails with CodeUnsent.
func (c *Client) Following(f Follow) Follower { return Follower{c, f} }

// Do sends req by [Client.FollowAudited] and leaves out the trail, which Config.Observer is told all the same: each hop is an event.
// Close the body of the answer.
func (f Follower) Do(req *http.Request) (*http.Response, error) {
	resp, _, err := f.client.FollowAudited(req, f.follow)
	return resp, err
}
