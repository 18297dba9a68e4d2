package envoy_test

import (
	"slices"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/envoy"
)

const everything = `
domain: d
descriptors:
  - key: user
    value: a*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 10, name: x, unit_multiplier: 3}
    descriptors:
      - {key: path, value: /v1/*/buy, rate_limit: {unlimited: true}}
      - {key: path, rate_limit: {unit: hour, requests_per_unit: 0, replaces: [{name: x}]}, shadow_mode: true}
  - {key: user, rate_limit: {unit: second, requests_per_unit: 4294967295}}
`

// Whatever is sent gets an answer, with a status for each descriptor, or an error that
// says what is wrong with it.
func FuzzRequest(f *testing.F) {
	c, _, err := envoy.Parse([]envoy.File{{Name: "f", Data: []byte(everything)}})
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range []*rls.RateLimitRequest{
		request("d", "user=ann", "user=bob, path=/v1/2/buy", "user=ann, path=x"), request("e", "a=b"), request("d"), request(""),
	} {
		for _, negative := range []bool{false, true} {
			for i, d := range r.GetDescriptors() {
				d.HitsAddend, d.IsNegativeHits = hits(uint64(i), "a=b").GetHitsAddend(), negative
			}
			data, err := proto.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	s, err := envoy.New(envoy.Options{Store: quota.NewMemoryStore(nil), Settings: envoy.Settings{Config: c, Headers: envoy.DefaultHeaders()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r rls.RateLimitRequest
		if proto.Unmarshal(data, &r) != nil {
			return
		}
		a, err := s.ShouldRateLimit(t.Context(), &r)
		if err != nil {
			if status.Code(err) != grpccodes.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if len(a.GetStatuses()) != len(r.GetDescriptors()) {
			t.Fatalf("%d statuses for %d descriptors", len(a.GetStatuses()), len(r.GetDescriptors()))
		}
		anyOver := slices.ContainsFunc(a.GetStatuses(), func(s *rls.RateLimitResponse_DescriptorStatus) bool { return s.GetCode() == over })
		if anyOver != (a.GetOverallCode() == over) || a.GetOverallCode() != ok && a.GetOverallCode() != over {
			t.Fatalf("the codes do not agree: %s", a)
		}
		for _, s := range a.GetStatuses() {
			if s.GetDurationUntilReset().AsDuration() < 0 {
				t.Fatalf("a negative duration: %s", s)
			}
		}
	})
}

// Whatever a file has, it is read or refused with a place, and what is read answers.
func FuzzConfiguration(f *testing.F) {
	for _, yaml := range []string{everything, userAndAll, "domain: d", "- a", bomb(), "domain: d\ndescriptors: &a [{key: k, descriptors: *a}]"} {
		f.Add([]byte(yaml), "user", "ann")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		c, differences, err := envoy.Parse([]envoy.File{{Name: "f", Data: data}})
		if err != nil {
			if c != nil || differences != nil {
				t.Fatal("there is a configuration, and an error")
			}
			return
		}
		for _, d := range differences {
			if d.String() == "" || d.File != "" && (d.Line < 1 || d.Column < 1) {
				t.Fatalf("a difference without a place: %+v", d)
			}
		}
		s, err := envoy.New(envoy.Options{Store: nowhere{}, Settings: envoy.Settings{Config: c}})
		if err != nil {
			t.Fatal(err)
		}
		r := request("d", "x=y")
		r.Descriptors[0].Entries[0].Key, r.Descriptors[0].Entries[0].Value = key, value
		if _, err := s.ShouldRateLimit(t.Context(), r); err != nil && status.Code(err) != grpccodes.InvalidArgument {
			t.Fatal(err)
		}
	})
}
