package httpclient_test

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
)

// ruleOf is the rule of the *GateError in err, or empty.
func ruleOf(t *testing.T, err error) httpclient.Rule {
	t.Helper()
	if err == nil {
		return ""
	}
	refused, ok := errors.AsType[*httpclient.GateError](err)
	require.True(t, ok, "%T: %v", err, err)
	assert.NotEmpty(t, refused.Remedy)
	return refused.Rule
}

const (
	passes   httpclient.Rule = ""
	unparsed httpclient.Rule = "net/url refuses it"
)

func TestGate(t *testing.T) {
	strict := httpclient.Gate{}
	both := httpclient.Gate{Schemes: []string{"http", "https"}}
	ports := httpclient.Gate{Ports: []uint16{443, 8443}}
	listed := httpclient.Gate{
		Allow: []string{"api.example.com", ".cdn.example.com", "vault", "8.8.8.8", "2606:4700::1"},
		Deny:  []string{"bad.cdn.example.com", ".evil.cdn.example.com"},
	}
	denies := httpclient.Gate{Deny: []string{"example.com", "xn--mnchen-3ya.example", "8.8.8.8", "2606:4700::1"}}
	inside := httpclient.Gate{AllowPrefixes: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"),
	}}
	urls := 0
	for _, tc := range []struct {
		gate httpclient.Gate
		url  string
		want httpclient.Rule
	}{
		// What is meant to pass.
		{strict, "https://api.example.com/v1?key=x#f", passes},
		{strict, "https://api.example.com:443/", passes},
		{strict, "https://api.example.com:0443/", passes},
		{strict, "https://api.example.com:/", passes},
		{strict, "https://API.Example.COM./", passes},
		{strict, "HTTPS://api.example.com/", passes},
		{strict, "https://xn--mnchen-3ya.example/", passes},
		{strict, "https://_dmarc.example.com/", passes},
		{strict, "https://1password.com/", passes},
		{strict, "https://0x.org/", passes},
		{strict, "https://example.x0x1/", passes},
		{strict, "https://8.8.8.8/", passes},
		{strict, "https://[2606:4700::1]/", passes},
		{strict, "https://[2606:4700:0::1]:443/", passes},
		{both, "http://api.example.com/", passes},
		{both, "http://api.example.com:80/", passes},
		{ports, "https://api.example.com:8443/", passes},

		// Schemes.
		{strict, "http://api.example.com/", httpclient.RuleScheme},
		{both, "ftp://api.example.com/", httpclient.RuleScheme},
		{both, "file:///etc/passwd", httpclient.RuleScheme},
		{both, "gopher://127.0.0.1:70/", httpclient.RuleScheme},
		{both, "javascript:alert(1)", httpclient.RuleScheme},
		{both, "//api.example.com/", httpclient.RuleScheme},
		{both, "/path", httpclient.RuleScheme},
		{both, "", httpclient.RuleScheme},

		// Userinfo.
		{strict, "https://user:pw@api.example.com/", httpclient.RuleUserinfo},
		{strict, "https://user@api.example.com/", httpclient.RuleUserinfo},
		{strict, "https://@api.example.com/", httpclient.RuleUserinfo},
		{strict, "https://api.example.com@127.0.0.1/", httpclient.RuleUserinfo},
		{strict, "https://api.example.com%40x@h.example/", httpclient.RuleUserinfo},

		// Hosts that can be read in two ways.
		{strict, "https:///path", httpclient.RuleHost},
		{strict, "https:api.example.com", httpclient.RuleHost},
		{strict, "https://./", httpclient.RuleHost},
		{strict, "https://api..example.com/", httpclient.RuleHost},
		{strict, "https://.example.com/", httpclient.RuleHost},
		{strict, "https://api.example.com../", httpclient.RuleHost},
		{strict, "https://münchen.example/", httpclient.RuleHost},
		{strict, "https://m%C3%BCnchen.example/", httpclient.RuleHost},
		{strict, "https://１２７.０.０.１/", httpclient.RuleHost},
		{strict, "https://127。0。0。1/", httpclient.RuleHost},
		{strict, "https://ⓛocalhost.example/", httpclient.RuleHost},
		{strict, "https://\u212aelvin.example/", httpclient.RuleHost}, // its lower case is ASCII
		{strict, "https://soft\u00adhyphen.example/", httpclient.RuleHost},
		{strict, "https://api.example.com%25.evil.example/", httpclient.RuleHost},
		{strict, "https://%31%32%37.0.0.1/", unparsed},
		{strict, "https://api.example.com%00.evil.example/", unparsed},
		{strict, `https://api.example.com\.evil.example/`, unparsed},
		{strict, "https://api.example.com\t.evil.example/", unparsed},
		{strict, "https://api,example.com/", httpclient.RuleHost},
		{strict, "https://api!example.com/", httpclient.RuleHost},
		{strict, "https://" + strings.Repeat("a", 64) + ".example/", httpclient.RuleHost},
		{strict, "https://" + strings.Repeat("a.", 127) + "example/", httpclient.RuleHost},

		// IPv4 in other notations.
		{strict, "https://2130706433/", httpclient.RuleHost},
		{strict, "https://0x7f000001/", httpclient.RuleHost},
		{strict, "https://0X7F000001/", httpclient.RuleHost},
		{strict, "https://017700000001/", httpclient.RuleHost},
		{strict, "https://0177.0.0.1/", httpclient.RuleHost},
		{strict, "https://127.1/", httpclient.RuleHost},
		{strict, "https://127.0.1/", httpclient.RuleHost},
		{strict, "https://127.0.0.0x1/", httpclient.RuleHost},
		{strict, "https://0x7f.0.0.0x/", httpclient.RuleHost},
		{strict, "https://127.0.0.01/", httpclient.RuleHost},
		{strict, "https://127.0.0.256/", httpclient.RuleHost},
		{strict, "https://127.0.0.1.1/", httpclient.RuleHost},
		{strict, "https://api.example.123/", httpclient.RuleHost},
		{strict, "https://0/", httpclient.RuleHost},
		{strict, "https://8.8.2056/", httpclient.RuleHost}, // public, and no less ambiguous

		// IPv6 in other notations.
		{strict, "https://[fe80::1%25eth0]/", httpclient.RuleHost},
		{strict, "https://[2606:4700::1%25eth0]/", httpclient.RuleHost},
		{strict, "https://2606:4700::1/", unparsed},
		{strict, "https://2606:4700::/", unparsed},
		{strict, "https://[]/", unparsed},

		// Addresses that are not public.
		{strict, "https://127.0.0.1/", httpclient.RuleAddress},
		{strict, "https://127.0.0.1./", httpclient.RuleAddress},
		{strict, "https://127.255.255.254/", httpclient.RuleAddress},
		{strict, "https://0.0.0.0/", httpclient.RuleAddress},
		{strict, "https://0.1.2.3/", httpclient.RuleAddress},
		{strict, "https://10.0.0.1/", httpclient.RuleAddress},
		{strict, "https://172.16.0.1/", httpclient.RuleAddress},
		{strict, "https://172.31.255.255/", httpclient.RuleAddress},
		{strict, "https://172.32.0.1/", passes},
		{strict, "https://192.168.1.1/", httpclient.RuleAddress},
		{strict, "https://169.254.169.254/latest/meta-data/", httpclient.RuleAddress},
		{strict, "https://100.64.0.1/", httpclient.RuleAddress},
		{strict, "https://100.100.100.200/", httpclient.RuleAddress},
		{strict, "https://100.128.0.1/", passes},
		{strict, "https://168.63.129.16/", httpclient.RuleAddress},
		{strict, "https://168.63.129.17/", passes},
		{strict, "https://192.0.0.192/", httpclient.RuleAddress},
		{strict, "https://192.0.2.1/", httpclient.RuleAddress},
		{strict, "https://198.18.0.1/", httpclient.RuleAddress},
		{strict, "https://224.0.0.1/", httpclient.RuleAddress},
		{strict, "https://240.0.0.1/", httpclient.RuleAddress},
		{strict, "https://255.255.255.255/", httpclient.RuleAddress},
		{strict, "https://[::]/", httpclient.RuleAddress},
		{strict, "https://[::1]/", httpclient.RuleAddress},
		{strict, "https://[0:0:0:0:0:0:0:1]/", httpclient.RuleAddress},
		{strict, "https://[::127.0.0.1]/", httpclient.RuleAddress},
		{strict, "https://[::ffff:127.0.0.1]/", httpclient.RuleAddress},
		{strict, "https://[::ffff:7f00:1]/", httpclient.RuleAddress},
		{strict, "https://[::FFFF:8.8.8.8]/", httpclient.RuleAddress},
		{strict, "https://[fe80::1]/", httpclient.RuleAddress},
		{strict, "https://[fec0::1]/", httpclient.RuleAddress},
		{strict, "https://[fc00::1]/", httpclient.RuleAddress},
		{strict, "https://[fd00:ec2::254]/", httpclient.RuleAddress},
		{strict, "https://[ff02::1]/", httpclient.RuleAddress},
		{strict, "https://[64:ff9b::7f00:1]/", httpclient.RuleAddress},
		{strict, "https://[64:ff9b::8.8.8.8]/", httpclient.RuleAddress},
		{strict, "https://[64:ff9b:1::a00:1]/", httpclient.RuleAddress},
		{strict, "https://[2002:7f00:1::]/", httpclient.RuleAddress},
		{strict, "https://[2001:0:7f00:1::1]/", httpclient.RuleAddress},
		{strict, "https://[2001:db8::1]/", httpclient.RuleAddress},
		{strict, "https://[100::1]/", httpclient.RuleAddress},
		{strict, "https://[5f00::1]/", httpclient.RuleAddress},
		{inside, "https://127.0.0.1/", passes},
		{inside, "https://127.0.0.2/", httpclient.RuleAddress},
		{inside, "https://[::ffff:127.0.0.1]/", httpclient.RuleAddress},
		{inside, "https://10.1.2.3/", passes},
		{inside, "https://10.2.2.3/", httpclient.RuleAddress},
		{inside, "https://[fd00:1::1]/", passes},
		{inside, "https://[fd00:2::1]/", httpclient.RuleAddress},
		{inside, "https://8.8.8.8/", passes},

		// Names of the local network.
		{strict, "https://localhost/", httpclient.RuleLocalName},
		{strict, "https://LOCALHOST./", httpclient.RuleLocalName},
		{strict, "https://api.localhost/", httpclient.RuleLocalName},
		{strict, "https://vault/", httpclient.RuleLocalName},
		{strict, "https://metadata.google.internal/", httpclient.RuleLocalName},
		{strict, "https://db.svc.cluster.local/", httpclient.RuleLocalName},
		{strict, "https://home.arpa/", httpclient.RuleLocalName},
		{strict, "https://router.home.arpa/", httpclient.RuleLocalName},
		{inside, "https://localhost/", httpclient.RuleLocalName},
		{strict, "https://notlocal/", httpclient.RuleLocalName},
		{strict, "https://xlocalhost.example/", passes},

		// Ports.
		{strict, "https://api.example.com:80/", httpclient.RulePort},
		{strict, "https://api.example.com:22/", httpclient.RulePort},
		{strict, "https://api.example.com:0/", httpclient.RulePort},
		{strict, "https://api.example.com:65979/", httpclient.RulePort}, // 443 in 16 bits
		{strict, "https://api.example.com:99999999999999999999/", httpclient.RulePort},
		{strict, "https://api.example.com:-443/", unparsed},
		{both, "http://api.example.com:443/", httpclient.RulePort},
		{both, "https://api.example.com:80/", httpclient.RulePort},
		{ports, "https://api.example.com:8444/", httpclient.RulePort},
		{httpclient.Gate{Ports: []uint16{65535}}, "https://api.example.com:70000/", httpclient.RulePort},
		{httpclient.Gate{Ports: []uint16{8443}}, "https://api.example.com/", httpclient.RulePort},

		// Lists of hosts.
		{listed, "https://api.example.com/", passes},
		{listed, "https://API.example.com./", passes},
		{listed, "https://api.example.com.evil.example/", httpclient.RuleNotAllowed},
		{listed, "https://xapi.example.com/", httpclient.RuleNotAllowed},
		{listed, "https://example.com/", httpclient.RuleNotAllowed},
		{listed, "https://a.cdn.example.com/", passes},
		{listed, "https://a.b.cdn.example.com/", passes},
		{listed, "https://cdn.example.com/", httpclient.RuleNotAllowed},
		{listed, "https://xcdn.example.com/", httpclient.RuleNotAllowed},
		{listed, "https://BAD.cdn.example.com./", httpclient.RuleDenied},
		{listed, "https://x.evil.cdn.example.com/", httpclient.RuleDenied},
		{listed, "https://evil.cdn.example.com/", passes},
		{listed, "https://vault/", passes},
		{listed, "https://localhost/", httpclient.RuleNotAllowed},
		{listed, "https://8.8.8.8/", passes},
		{listed, "https://8.8.4.4/", httpclient.RuleNotAllowed},
		{listed, "https://[2606:4700:0:0::1]/", passes},
		{denies, "https://example.com/", httpclient.RuleDenied},
		{denies, "https://EXAMPLE.com./", httpclient.RuleDenied},
		{denies, "https://sub.example.com/", passes},
		{denies, "https://XN--MNCHEN-3ya.example/", httpclient.RuleDenied},
		{denies, "https://8.8.8.8/", httpclient.RuleDenied},
		{denies, "https://[2606:4700::0001]/", httpclient.RuleDenied},
	} {
		urls++
		u, err := url.Parse(tc.url)
		if err != nil {
			assert.Equal(t, tc.want, unparsed, "%s: %v", tc.url, err)
			continue
		}
		assert.Equal(t, tc.want, ruleOf(t, tc.gate.Check(u)), tc.url)
	}
	t.Logf("scorecard: row=10 urls=%d", urls)
}

// What url.Parse never makes, but a program or something in Config.Wrap may.
func TestGateOfHandMadeURLs(t *testing.T) {
	for _, tc := range []struct {
		url  url.URL
		want httpclient.Rule
	}{
		{url.URL{Scheme: "https", Host: "h.example"}, passes},
		{url.URL{Scheme: "HTTPS", Host: "h.example"}, httpclient.RuleScheme},
		{url.URL{Scheme: "https", Host: "h.example", Opaque: "//127.0.0.1/"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "h.example/x"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "h.example\r\nX: y"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "u@h.example"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "h.example:443:80"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "h.example:https"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "::1"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "2606:4700::1:443"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "[8.8.8.8]"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "[h.example]"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "[2606:4700::1.]"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "[2606:4700::1]x"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: "%31.example"}, httpclient.RuleHost},
		{url.URL{Scheme: "https", Host: " h.example"}, httpclient.RuleHost},
	} {
		assert.Equal(t, tc.want, ruleOf(t, httpclient.Gate{}.Check(&tc.url)), "%+v", tc.url)
	}
}

func TestGateValidate(t *testing.T) {
	assert.NoError(t, httpclient.Gate{
		Schemes: []string{"http"}, Ports: []uint16{1}, Allow: []string{"a", ".b.c", "1.2.3.4", "::1"}, Deny: []string{"xn--a"},
		AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("::/0")},
	}.Validate())
	bad := httpclient.Gate{
		Schemes: []string{"ftp"}, Ports: []uint16{0},
		Allow: []string{"", ".", "A", "a:80", "http://a", "*.a", "a.", "..a", "[::1]", "0::1", "01.2.3.4", "127.1", ".1.2.3.4", "ü", "fe80::1%e"},
		Deny:  []string{"a b"}, AllowPrefixes: []netip.Prefix{{}, netip.MustParsePrefix("::ffff:10.0.0.0/104")},
	}
	err := bad.Validate()
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	assert.Len(t, lines, 2+15+1+2, "%v", err)
	for _, line := range lines {
		assert.Contains(t, line, "httpclient: Gate.")
		assert.Contains(t, line, "want")
	}
	assert.Error(t, bad.Check(&url.URL{Scheme: "https", Host: "h.example"}))
	_, err = httpclient.New(httpclient.Config{Gate: &bad})
	assert.ErrorContains(t, err, "Gate.Ports")
}

// What is allowed and can never pass is a mistake.
func TestGateContradictions(t *testing.T) {
	inside := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tc := range []struct {
		gate httpclient.Gate
		says string // "": nothing
	}{
		{httpclient.Gate{Allow: []string{"a.example"}, Deny: []string{"a.example"}}, `"a.example" is also in Gate.Deny`},
		{httpclient.Gate{Allow: []string{"a.b.example"}, Deny: []string{".example"}}, `"a.b.example" is also in Gate.Deny`},
		{httpclient.Gate{Allow: []string{".b.example"}, Deny: []string{".example"}}, `".b.example" is also in Gate.Deny`},
		{httpclient.Gate{Allow: []string{"8.8.8.8"}, Deny: []string{"8.8.8.8"}}, `"8.8.8.8" is also in Gate.Deny`},
		{httpclient.Gate{Allow: []string{".example"}, Deny: []string{".b.example", "example"}}, ""},
		{httpclient.Gate{Allow: []string{"10.0.0.1"}}, `"10.0.0.1" is not a public address`},
		{httpclient.Gate{Allow: []string{"::1"}, AllowPrefixes: inside}, `"::1" is not a public address`},
		{httpclient.Gate{Allow: []string{"10.0.0.1"}, AllowPrefixes: inside}, ""},
	} {
		err := tc.gate.Validate()
		if tc.says == "" {
			assert.NoError(t, err)
			continue
		}
		var field *fault.FieldError
		require.ErrorAs(t, err, &field, "%+v", tc.gate)
		assert.Equal(t, "Gate.Allow", field.Field)
		assert.Contains(t, field.Problem, tc.says)
	}
}

// outside is the judge of addresses that the gate does not use.
func outside(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	if ip.Is4() {
		b := ip.As4()
		return b[0] != 0 && b[0] < 224 && (b[0] != 100 || b[1]>>6 != 1)
	}
	b := ip.As16()
	return b[0]>>5 == 1 && (b[0] != 0x20 || b[1] != 0x02)
}

// Whatever the spelling, no address passes that is not public.
func TestGateProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ip netip.Addr
		if rapid.Bool().Draw(t, "v4") {
			b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")
			b[0] = rapid.SampledFrom([]byte{b[0], 0, 10, 100, 127, 169, 172, 192, 224, 255}).Draw(t, "first")
			ip = netip.AddrFrom4([4]byte(b))
		} else {
			b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")
			copy(b, rapid.SampledFrom([]string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff", "\xfe\x80", "\xfd", "\x20\x02", "\x20", "\x00\x64\xff\x9b"}).Draw(t, "prefix"))
			ip = netip.AddrFrom16([16]byte(b))
		}
		texts := []string{ip.String(), ip.StringExpanded(), strings.ToUpper(ip.String())}
		if ip.Is4() {
			b := ip.As4()
			n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
			odd := []string{
				strconv.FormatUint(uint64(n), 10), fmt.Sprintf("0x%x", n), fmt.Sprintf("0%o", n),
				fmt.Sprintf("0%o.%d.%d.%d", b[0], b[1], b[2], b[3]), fmt.Sprintf("%d.%d.%d.0x%X", b[0], b[1], b[2], b[3]),
				fmt.Sprintf("%d.%d", b[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", b[0], b[1], n&0xffff),
			}
			for _, text := range odd {
				err := httpclient.Gate{}.Check(&url.URL{Scheme: "https", Host: text})
				if _, parses := netip.ParseAddr(text); parses != nil && err == nil {
					t.Fatalf("%s passes", text)
				}
			}
			texts = append(texts, ip.String()+".")
		}
		for _, text := range texts {
			if !ip.Is4() {
				text = "[" + text + "]"
			}
			err := httpclient.Gate{}.Check(&url.URL{Scheme: "https", Host: text + rapid.SampledFrom([]string{"", ":443"}).Draw(t, "port")})
			if err == nil && !outside(ip) {
				t.Fatalf("%s passes", text)
			}
		}
	})
}

// What passes is unambiguous: an ASCII name or a public address, and the same after another reading.
func FuzzGate(f *testing.F) {
	for _, seed := range []string{
		"https://api.example.com/", "https://127.0.0.1/", "https://[::ffff:7f00:1]:443/", "https://0x7f.1/", "https://u@h.example/",
		"https://h.example:443:80", "https://%31.example", "https://１.example", "https://[fe80::1%25e]/", "http://x/", "https:h.example",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			u = &url.URL{Scheme: "https", Host: text}
		}
		if (httpclient.Gate{}).Check(u) != nil {
			return
		}
		require.Equal(t, "https", u.Scheme)
		require.Nil(t, u.User)
		require.NotRegexp(t, `[^-A-Za-z0-9_.:\[\]]`, u.Host)
		require.Contains(t, []string{"", "443"}, strings.TrimLeft(u.Port(), "0"))
		host := strings.TrimSuffix(u.Hostname(), ".")
		if ip, err := netip.ParseAddr(host); err == nil {
			require.True(t, outside(ip), "%s", ip)
		} else {
			require.NotRegexp(t, `(^|\.)(\d+|0[xX][0-9a-fA-F]*)$`, host)
			require.Contains(t, host, ".")
		}
		again, err := url.Parse(u.String())
		require.NoError(t, err)
		require.NoError(t, httpclient.Gate{}.Check(again))
		require.Equal(t, u.Host, again.Host)
	})
}
