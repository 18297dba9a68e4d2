package presets_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Rows of the facts, typed by hand from the facts and not made from the table
// that they judge.

const (
	oaiModels = "https://developers.openai.com/api/docs/models/" // and the model's page
	oaiLimits = "https://developers.openai.com/api/docs/guides/rate-limits"
	claude    = "https://platform.claude.com/docs/en/api/rate-limits"
	claudeOld = "https://github.com/api-evangelist/anthropic"
	studio    = "https://aistudio.google.com/rate-limit"
	gemini    = "https://ai.google.dev/gemini-api/docs/rate-limits"
	groq      = "https://console.groq.com/docs/rate-limits"
	cohere    = "https://docs.cohere.com/docs/rate-limits"
	azure     = "https://github.com/MicrosoftDocs/azure-ai-docs/blob/main/articles/ai-foundry/openai/includes/quota-tier/tier-1.md"
	azureAll  = "https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits"
	deepseek  = "https://api-docs.deepseek.com/quick_start/rate_limit"
	xai       = "https://www.developersdigest.tech/rate-limits/xai"
	pplx      = "https://docs.perplexity.ai/docs/admin/rate-limits-usage-tiers"
	pplxOld   = "https://docs.perplexity.ai/guides/usage-tiers"
	fireworks = "https://docs.fireworks.ai/serverless/rate-limits"
	fireQuota = "https://docs.fireworks.ai/guides/quotas_usage/account-quotas"
	router    = "https://openrouter.ai/docs/api_reference/limits"
	voyage    = "https://docs.voyageai.com/docs/rate-limits"
	jina      = "https://jina.ai/en-US/api-dashboard/rate-limit/"
	hugging   = "https://huggingface.co/docs/hub/rate-limits"
	github    = "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api"
	stripe    = "https://docs.stripe.com/rate-limits"
	slack     = "https://docs.slack.dev/apis/web-api/rate-limits"
	shopify   = "https://shopify.dev/docs/api/usage/limits"
	crossref  = "https://www.crossref.org/blog/announcing-changes-to-rest-api-rate-limits/"
	scholar   = "https://github.com/api-evangelist/semantic-scholar"
	datacite  = "https://github.com/api-evangelist/datacite"
	throttled = "https://github.com/Jason-AI-lab/pocketflow-throttled"
	unlinked  = "none" // the source has no address
)

const (
	sec    = time.Second
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
	month  = 31 * day // the longest: what holds over it holds in every calendar month
)

// limit is one window: its unit, its maximum, and how long that takes to come
// back. how is what its text must hold, where the facts state how it is counted.
type limit struct {
	unit throttle.Unit
	max  int64
	per  time.Duration
	how  string
}

func req(n int64, per time.Duration) limit    { return limit{throttle.Requests, n, per, ""} }
func tok(n int64, per time.Duration) limit    { return limit{throttle.Tokens, n, per, ""} }
func in(n int64) limit                        { return limit{throttle.InputTokens, n, minute, ""} }
func out(n int64) limit                       { return limit{throttle.OutputTokens, n, minute, ""} }
func points(n int64, per time.Duration) limit { return limit{throttle.Points, n, per, ""} }

// bucket is a window with a burst that the facts state.
func (l limit) bucket() limit { l.how = "bucket "; return l }

// until is a window that the facts say ends at midnight in that zone.
func (l limit) until(zone string) limit { l.how = "@" + zone; return l }

func claudes(rpm, itpm, otpm int64) []limit {
	return []limit{req(rpm, minute), in(itpm), out(otpm)}
}

func geminis(rpm, rpd, tpm int64) []limit {
	return []limit{req(rpm, minute), req(rpd, day).until("America/Los_Angeles"), in(tpm)}
}

type known struct {
	ask         string
	limits      []limit
	concurrency int
	url         string // empty, for a tier: its models have several
	date        string
	estimated   bool
	confidence  presets.Confidence

	kind presets.Kind // empty: limits

	scope, pool, algorithm string // empty: not looked at
}

const (
	high   = presets.High
	medium = presets.Medium
	low    = presets.Low
	usual  = presets.Convention
	est    = true // the source bears no date
)

func rows() []known {
	return []known{
		{ask: "openai/tier1/gpt-4o-mini", limits: []limit{req(500, minute), req(10_000, day), tok(200_000, minute)}, url: oaiModels + "gpt-4o-mini.md", date: "2026-09-24", confidence: high, scope: "organization+model"},
		{ask: "OpenAI/Tier1/GPT-4o-Mini", limits: []limit{req(500, minute), req(10_000, day), tok(200_000, minute)}, url: oaiModels + "gpt-4o-mini.md", date: "2026-09-24", confidence: high},
		{ask: "openai/tier5/gpt-6-astra", limits: []limit{req(15_000, minute), tok(40_000_000, minute)}, url: oaiModels + "gpt-6-astra.md", date: "2026-09-24", confidence: high},
		{ask: "openai/tier2/gpt-5", limits: []limit{req(5000, minute), tok(1_000_000, minute)}, url: oaiModels + "gpt-5", date: "2026-03-28", confidence: medium},
		{ask: "openai/tier1/gpt-5.5:long-context", limits: []limit{req(200, minute), tok(400_000, minute)}, url: oaiModels + "gpt-5.5.md", date: "2026-07", estimated: est, confidence: medium},
		{ask: "openai/tier2/o3-mini", limits: []limit{req(2000, minute), tok(200_000, minute)}, url: oaiModels + "o3-mini.md", date: "2026-07", estimated: est, confidence: high},
		{ask: "openai/free/omni-moderation", limits: []limit{req(250, minute), req(5000, day), tok(10_000, minute)}, url: oaiModels + "omni-moderation.md", date: "2026-09-24", confidence: high},
		{ask: "openai/tier1/gpt-image-2", limits: []limit{tok(100_000, minute), points(5, minute)}, url: oaiModels + "gpt-image-2.md", date: "2026-07", estimated: est, confidence: high},
		{ask: "openai/tier4/dall-e-3", limits: []limit{points(15, minute)}, url: "https://github.com/openai/openai-cookbook/tree/main/examples/data/oai_docs", date: "2024-06", confidence: low},
		{
			ask: "openai/tier1/whisper-1", limits: []limit{req(500, minute)}, date: "2024-11", confidence: low,
			url: "https://community.openai.com/t/gpt-4o-rate-limits-being-30k-tpm-and-90k-tpd-does-that-mean-i-can-only-do-90k-tokens-in-a-day/1028595",
		},
		{ask: "openai/any/vector-store-files", limits: []limit{req(300, minute)}, url: oaiLimits, date: "2026-07-15", confidence: high, scope: "per vector_store_id"},
		{ask: "openai/tier3/qualification", kind: presets.KindInfo, url: oaiLimits, date: "2026-07-15", confidence: high},

		{ask: "anthropic/start/claude-opus-5", limits: claudes(1000, 2_000_000, 400_000), url: claude, date: "2026-08", confidence: high, scope: "organization+model class", algorithm: "token-bucket"},
		{ask: "anthropic/build/claude-haiku-3.5", limits: claudes(2000, 200_000, 40_000), url: claude, date: "2026-08", confidence: high},
		{ask: "anthropic/scale/claude-opus-5.5", limits: claudes(10_000, 10_000_000, 2_000_000), url: claude, date: "2026-10", confidence: medium},
		{ask: "anthropic/tier4/claude-sonnet-4.x", limits: claudes(4000, 2_000_000, 400_000), url: claudeOld, date: "2026-05-22", confidence: medium},
		{ask: "anthropic/any/managed-agents:create", limits: []limit{req(300, minute)}, url: claude, date: "2026-08", confidence: high, scope: "organization"},
		{ask: "anthropic/scale/message-batches-api", limits: []limit{req(4000, minute)}, url: claude, date: "2026-08", confidence: high},
		{ask: "anthropic/start/spend-cap", kind: presets.KindInfo, url: claude, date: "2026-08", confidence: high},

		{ask: "gemini/free/gemini-3.5-flash-lite", limits: geminis(15, 500, 250_000), url: studio, date: "2026-08-03", confidence: medium, scope: "project+model"},
		{ask: "gemini/free/gemini-2.5-pro", limits: geminis(5, 100, 250_000), url: gemini, date: "2025-09-05", confidence: low},
		{ask: "gemini/free/gemma-4-31b", limits: geminis(30, 14_400, 16_000), url: studio, date: "2026-08-03", confidence: medium},
		{ask: "gemini/tier1/gemini-2.5-flash-lite", limits: []limit{req(4000, minute), in(4_000_000)}, url: gemini, date: "2025-07", estimated: est, confidence: low},
		{ask: "gemini/any/batch", concurrency: 100, url: gemini, date: "2025-09-05", confidence: medium},
		{
			ask: "gemini/free/gemini-3.1-pro", kind: presets.KindUnavailable, date: "2026-10-07", confidence: medium,
			url: "https://dev.to/nils44344/gemini-api-429-resourceexhausted-why-your-limit-is-0-68o",
		},
		{ask: "gemini/tier2/spend-limit", kind: presets.KindInfo, url: "https://www.developersdigest.tech/rate-limits/google", date: "2026-10-17", confidence: high},

		{ask: "mistral/free", limits: []limit{req(1, sec), tok(500_000, minute)}, url: "https://help.mistral.ai/en/articles/225174-what-are-the-limits-of-the-free-tier", date: "2025", estimated: est, confidence: low},
		{ask: "mistral/tier2", kind: presets.KindInfo, url: "https://docs.mistral.ai/deployment/ai-studio/tier", date: "2026-08-21", confidence: medium},
		{ask: "groq/free/llama-3.1-8b-instant", limits: []limit{req(30, minute), req(14_400, day), tok(6000, minute), tok(500_000, day)}, url: groq, date: "2026-08-14", confidence: high},
		{ask: "groq/free/whisper-large-v3", limits: []limit{req(20, minute), req(2000, day), points(7200, hour), points(28_800, day)}, url: groq, date: "2026-08-14", confidence: high},
		{ask: "groq/developer/compound", limits: []limit{req(200, minute), req(20_000, day), tok(200_000, minute)}, url: groq, date: "2026-08-14", confidence: high},
		{ask: "cohere/trial/rerank", limits: []limit{req(10, minute), req(1000, month)}, url: cohere, date: "2026-08-20", confidence: high, scope: "key"},
		{ask: "cohere/trial/embed", limits: []limit{req(1000, month), points(2000, minute)}, url: cohere, date: "2026-08-20", confidence: high},
		{ask: "cohere/production/embed-images", limits: []limit{points(400, minute)}, url: cohere, date: "2026-08-20", confidence: high},
		{ask: "cohere/production/command-r7b", limits: []limit{req(500, minute)}, url: cohere, date: "2026-08-20", confidence: high},

		{
			ask: "azure-openai/tier1/gpt-4o-mini:globalstandard", limits: []limit{req(20_000, minute), tok(2_000_000, minute)}, url: azure, date: "2026-02-18", confidence: high,
			scope: "subscription+region+model+deployment type",
		},
		{ask: "azure-openai/tier1/text-embedding-3-large:globalstandard", limits: []limit{req(1000, 10*sec), tok(1_000_000, minute)}, url: azure, date: "2026-02-18", confidence: high, scope: "subscription+region"},
		{ask: "azure-openai/default/dall-e-2", concurrency: 2, url: azureAll, date: "2025", confidence: medium},
		{
			ask: "azure-openai/formula/older-chat-models", kind: presets.KindInfo, date: "2025", estimated: est, confidence: high, scope: "deployment",
			url: "https://learn.microsoft.com/en-us/microsoft-cloud/dev/dev-proxy/concepts/azure-openai-429-token-rate-limit",
		},
		{ask: "aws-bedrock/default/bedrock-runtime", kind: presets.KindInfo, url: "https://docs.aws.amazon.com/bedrock/latest/userguide/quotas-runtime.html", date: "2025", estimated: est, confidence: high},
		{ask: "deepseek/default/deepseek-v4-pro", concurrency: 500, url: deepseek, date: "2026", estimated: est, confidence: high, scope: "account+model, all keys"},
		{ask: "deepseek/default/legacy", kind: presets.KindInfo, url: deepseek, date: "2025", confidence: high},
		{ask: "xai/tier4/grok-4.7", limits: []limit{req(500, sec), tok(100_000_000, minute)}, url: xai, date: "2026-10-17", confidence: medium, scope: "team+model"},
		{ask: "xai/tier1/grok-4.5", limits: []limit{req(172, sec)}, url: xai, date: "2026-10-17", confidence: medium},
		{ask: "perplexity/tier2/agent-api", limits: []limit{req(500, minute), req(8, sec)}, url: pplx, date: "2025", estimated: est, confidence: high},
		{ask: "perplexity/any/search-api", limits: []limit{req(50, sec).bucket()}, url: pplx, date: "2025", estimated: est, confidence: high},
		{ask: "perplexity/tier0/async-get-result", limits: []limit{req(6000, minute)}, url: pplxOld, date: "2025", estimated: est, confidence: medium},
		{ask: "together/any/serverless", kind: presets.KindInfo, url: "https://docs.together.ai/docs/serverless/rate-limits", date: "2025", estimated: est, confidence: high},
		// A call cannot tell before what is cached, so both input limits hold for all of its input.
		{ask: "fireworks/payment-method/serverless", limits: []limit{in(3_600_000), in(900_000), out(36_000)}, url: fireworks, date: "2025", estimated: est, confidence: high, scope: "account+model"},
		{ask: "fireworks/no-payment-method/account", limits: []limit{req(10, minute)}, url: fireQuota, date: "2025", estimated: est, confidence: high},
		{ask: "openrouter/free-under-10-credits/free-models", limits: []limit{req(20, minute), req(50, day).until("UTC")}, url: router, date: "2026-10-17", confidence: high, scope: "account, global"},
		{ask: "openrouter/paid", kind: presets.KindInfo, url: router, date: "2026-08-22", confidence: high},
		{ask: "voyage/tier3/voyage-4-lite", limits: []limit{req(6000, minute), tok(48_000_000, minute)}, url: voyage, date: "2025", estimated: est, confidence: medium},
		{ask: "voyage/no-payment-method", limits: []limit{req(3, minute), tok(10_000, minute)}, url: "https://www.mongodb.com/docs/voyageai/api-reference/overview", date: "2025", estimated: est, confidence: high},
		{
			ask: "jina/paid-key/rerank", limits: []limit{req(500, minute), tok(2_000_000, minute)}, concurrency: 50, url: jina, date: "2025", estimated: est, confidence: high,
			pool: "jina/paid-key/embeddings-rerank",
		},
		{
			ask: "jina/paid-key/embeddings", limits: []limit{req(500, minute), tok(2_000_000, minute)}, concurrency: 50, url: jina, date: "2025", estimated: est, confidence: high,
			pool: "jina/paid-key/embeddings-rerank",
		},
		{ask: "jina/no-key/reader-r.jina.ai", limits: []limit{req(20, minute)}, url: jina, date: "2025", estimated: est, confidence: high, scope: "IP"},
		{ask: "huggingface/pro/resolvers", limits: []limit{req(12_000, 5*minute)}, url: hugging, date: "2026-08-22", confidence: high, scope: "user (each org member separately)"},
		{ask: "huggingface/enterprise-plus-higher/pages", limits: []limit{req(10_000, 5*minute)}, url: hugging, date: "2026-08-22", confidence: high},
		{ask: "huggingface/free/inference-providers", kind: presets.KindInfo, url: "https://huggingface.co/docs/inference-providers/pricing", date: "2026-08-22", confidence: high},

		{ask: "github/authenticated/rest", limits: []limit{req(5000, hour)}, url: github, date: "2025", estimated: est, confidence: high},
		{ask: "github/secondary/rest", limits: []limit{points(900, minute)}, url: github, date: "2025", estimated: est, confidence: high},
		{ask: "github/secondary/rest-and-graphql", concurrency: 100, url: github, date: "2025", estimated: est, confidence: high},
		{ask: "github/secondary/content-creation", limits: []limit{req(80, minute), req(500, hour)}, url: github, date: "2025", estimated: est, confidence: high},
		{ask: "stripe/live/payouts-create", limits: []limit{req(15, sec)}, concurrency: 30, url: stripe, date: "2026-09", confidence: medium},
		{ask: "stripe/any/payment-intent-updates", limits: []limit{req(1000, hour)}, url: stripe, date: "2026-09", confidence: high, scope: "per PaymentIntent"},
		{ask: "slack/tier3/web-api", limits: []limit{req(50, minute)}, url: slack, date: "2025", estimated: est, confidence: high, scope: "method+workspace+app"},
		{ask: "slack/special/chat.postmessage", limits: []limit{req(1, sec)}, url: slack, date: "2025", estimated: est, confidence: high, scope: "channel"},
		{ask: "slack/non-marketplace-commercial/conversations.replies", limits: []limit{req(1, minute)}, url: slack, date: "2025-05-29", confidence: high},
		{ask: "notion/any/api", limits: []limit{req(3, sec)}, url: "https://developers.notion.com/reference/request-limits", date: "2025", estimated: est, confidence: high, scope: "integration"},
		{ask: "shopify/plus/graphql-admin", limits: []limit{points(1000, sec)}, url: shopify, date: "2026-08-27", confidence: high, scope: "app+store"},
		{ask: "shopify/standard/rest-admin", limits: []limit{req(40, 20*sec).bucket()}, url: "https://shopify.dev/docs/api/admin-rest/usage/rate-limits", date: "2025", estimated: est, confidence: high}, // 2/s, 40 at once
		{ask: "wikimedia/compliant-user-agent/all-apis", limits: []limit{req(200, minute)}, concurrency: 3, url: "https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits", date: "2026-06-03", confidence: medium},
		{ask: "crossref/polite/list-query", limits: []limit{req(3, sec)}, concurrency: 3, url: crossref, date: "2025-12-01", confidence: high, scope: "user"},
		{ask: "crossref/plus/all", limits: []limit{req(150, sec)}, url: crossref, date: "2025-12-01", confidence: medium},
		{ask: "arxiv/any/all-apis", limits: []limit{req(20, minute), req(1, 3*sec)}, concurrency: 1, url: "https://info.arxiv.org/help/api/tou.html", date: "2025", estimated: est, confidence: high},
		{ask: "semantic-scholar/unauthenticated/shared-pool", limits: []limit{req(100, 5*minute)}, url: scholar, date: "2026-06-12", confidence: low},
		{ask: "ncbi-eutils/api-key/all", limits: []limit{req(10, sec)}, url: "https://support.nlm.nih.gov/kbArticle/?pn=KA-05510", date: "2025", estimated: est, confidence: high},
		{ask: "osm-nominatim/public/all", limits: []limit{req(1, sec)}, concurrency: 1, url: "https://operations.osmfoundation.org/policies/nominatim/", date: "2026-05-29", confidence: high, scope: "whole application"},
		{ask: "openalex/free-key/all", limits: []limit{req(100, sec)}, url: "https://developers.openalex.org/api-reference/authentication", date: "2025", estimated: est, confidence: high},
		{ask: "datacite/identified/all", limits: []limit{req(1000, 5*minute)}, url: datacite, date: "2026-06-12", confidence: medium},
		{ask: "sec-edgar/any/all", limits: []limit{req(10, sec)}, url: "https://www.sec.gov/os/accessing-edgar-data", date: "2025", estimated: est, confidence: medium},
		{ask: "generic/conservative", limits: []limit{req(20, minute)}, concurrency: 2, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "Generic/Moderate", limits: []limit{req(60, minute)}, concurrency: 5, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "generic/aggressive", limits: []limit{req(200, minute)}, concurrency: 10, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "generic/unlimited-concurrent", concurrency: 50, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "generic/flow-conservative", limits: []limit{req(30, minute)}, concurrency: 3, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "generic/flow-moderate", limits: []limit{req(60, minute)}, concurrency: 10, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "generic/flow-aggressive", limits: []limit{req(200, minute)}, concurrency: 25, url: throttled, date: "2026-02-03", confidence: usual},
		{ask: "generic/scraping-polite", limits: []limit{req(10, minute)}, concurrency: 2, url: throttled, date: "2026-02-03", confidence: usual, scope: "host"},
		{ask: "generic/scraping-robots", limits: []limit{req(1, sec)}, concurrency: 1, url: unlinked, date: "2025", estimated: est, confidence: usual},
	}
}

// tiers are minima over the rows with main: true, worked out on paper. A tier
// is as old as its oldest row and as sure as its least sure one.
func tiers() []known {
	return []known{
		{ask: "openai/free", limits: []limit{req(3, minute), req(200, day), tok(40_000, minute)}, url: "https://platform.openai.com/docs/models/gpt-4.1-nano", date: "2025-04", confidence: medium},
		{ask: "openai/tier1", limits: []limit{req(500, minute), tok(500_000, minute)}, date: "2026-03-28", confidence: medium},
		{ask: "openai/tier3", limits: []limit{req(5000, minute), tok(2_000_000, minute)}, date: "2026-03-28", confidence: medium},
		{ask: "openai/tier5", limits: []limit{req(15_000, minute), tok(40_000_000, minute)}, date: "2026-03-28", confidence: medium},
		{ask: "anthropic/start", limits: claudes(1000, 2_000_000, 400_000), url: claude, date: "2026-08", confidence: medium},
		{ask: "Anthropic/Build", limits: claudes(5000, 5_000_000, 1_000_000), url: claude, date: "2026-08", confidence: medium},
		{ask: "anthropic/tier1", limits: claudes(50, 30_000, 8000), url: claudeOld, date: "2026-05-22", confidence: medium},
		{ask: "anthropic/tier3", limits: claudes(2000, 800_000, 160_000), url: claudeOld, date: "2026-05-22", confidence: medium},
		{ask: "groq/free", limits: []limit{req(30, minute), req(1000, day), tok(6000, minute), tok(100_000, day)}, url: groq, date: "2026-08-14", confidence: high},
		{ask: "groq/developer", limits: []limit{req(1000, minute), req(500_000, day), tok(250_000, minute)}, url: groq, date: "2026-08-14", confidence: high},
		{ask: "gemini/free", limits: geminis(5, 20, 250_000), url: studio, date: "2026-08-03", confidence: medium},
		{ask: "gemini/tier1", limits: geminis(150, 10_000, 1_000_000), url: gemini, date: "2025-09-05", confidence: medium},
		{ask: "azure-openai/tier1", limits: []limit{req(1000, minute), tok(1_000_000, minute)}, url: azure, date: "2026-02-18", confidence: high},
		{ask: "cohere/trial", limits: []limit{req(20, minute), req(1000, month)}, url: cohere, date: "2026-08-20", confidence: high},
		{ask: "deepseek/default", concurrency: 500, url: deepseek, date: "2026", estimated: est, confidence: high},
		{ask: "xai/tier0", limits: []limit{req(150, sec), tok(50_000_000, minute)}, url: xai, date: "2026-10-17", confidence: medium},
		{ask: "perplexity/tier0", limits: []limit{req(50, minute), req(1, sec)}, date: "2025", estimated: est, confidence: medium},
		{ask: "fireworks/payment-method", limits: []limit{req(6000, minute), in(900_000), out(36_000)}, date: "2025", estimated: est, confidence: high},
		{ask: "openrouter/free-10-credits", limits: []limit{req(20, minute), req(1000, day).until("UTC")}, url: router, date: "2026-10-17", confidence: high},
		{ask: "voyage/tier1", limits: []limit{req(2000, minute), tok(3_000_000, minute)}, url: voyage, date: "2025", estimated: est, confidence: high},
		{ask: "jina/free-key", limits: []limit{req(100, minute), tok(100_000, minute)}, concurrency: 2, url: jina, date: "2025", estimated: est, confidence: high},
		{ask: "huggingface/free", limits: []limit{req(1000, 5*minute)}, url: hugging, date: "2026-08-22", confidence: high},
		{ask: "github/secondary", limits: []limit{points(900, minute)}, concurrency: 100, url: github, date: "2025", estimated: est, confidence: high},
		{ask: "stripe/any", limits: []limit{req(25, sec)}, url: stripe, date: "2026-09", confidence: high},
		{ask: "crossref/public", limits: []limit{req(1, sec)}, concurrency: 1, url: crossref, date: "2025-12-01", confidence: high},
	}
}

// differences lists in words what p has otherwise than expected.
func (k known) differences(p presets.Profile) (all []string) {
	differ := func(what string, want, got any) {
		if want != got {
			all = append(all, fmt.Sprintf("%s: want %v, got %v", what, want, got))
		}
	}
	kind := k.kind
	if kind == "" {
		kind = presets.KindLimits
	}
	differ("kind", kind, p.Kind)
	if k.algorithm != "" {
		differ("algorithm", k.algorithm, p.Algorithm)
	}
	differ("concurrency", k.concurrency, p.Limits.Concurrency)
	unexpected := slices.Clone(p.Limits.Windows)
	for _, l := range k.limits {
		i := slices.IndexFunc(unexpected, l.is)
		if i < 0 {
			all = append(all, fmt.Sprintf("limits: %d %s per %s %s is not in %v", l.max, l.unit, l.per, l.how, p.Limits.Windows))
			continue
		}
		unexpected = slices.Delete(unexpected, i, i+1)
	}
	if len(unexpected) > 0 {
		all = append(all, fmt.Sprintf("limits: nobody states %v", unexpected))
	}
	switch k.url {
	case "":
	case unlinked:
		differ("url", "", p.Source.URL)
	default:
		differ("url", k.url, p.Source.URL)
	}
	differ("date", k.date, p.Date())
	differ("as of", k.date, p.AsOf.UTC().Format("2006-01-02"[:len(k.date)]))
	differ("estimated", k.estimated, p.Estimated)
	differ("confidence", k.confidence, p.Confidence)
	if k.scope != "" {
		differ("scope", k.scope, p.Scope)
	}
	if k.pool != "" {
		differ("pool", k.pool, p.Pool)
	}
	return all
}

func (l limit) is(w throttle.Window) bool {
	per := time.Duration(math.Round(float64(w.Max())/w.Rate()*1000)) * time.Millisecond
	return w.Unit() == l.unit && w.Max() == l.max && per == l.per && strings.Contains(w.String(), l.how)
}

// failing names the expectations that a table does not meet.
func failing(t *presets.Table) (names []string) {
	for _, k := range append(rows(), tiers()...) {
		if p, _ := t.Lookup(k.ask); len(k.differences(p)) > 0 { // an error leaves p empty, or is one of KindUnavailable
			names = append(names, k.ask)
		}
	}
	return names
}

// The table of expectations is worth something only if a wrong number fails it.
func TestKnownRowsFailOnAnAlteredFact(t *testing.T) {
	facts, err := os.ReadFile("facts.json")
	require.NoError(t, err)
	untouched, err := presets.Parse(facts)
	require.NoError(t, err)
	assert.Empty(t, failing(untouched))
	for _, tc := range []struct {
		id, was, is string
		fail        []string
	}{
		{"openai/tier1/gpt-4o-mini", `"rpd": 10000`, `"rpd": 1000`, []string{"openai/tier1/gpt-4o-mini", "OpenAI/Tier1/GPT-4o-Mini"}},
		{"groq/free/whisper-large-v3", `"audio_s_per_hour": 7200`, `"audio_s_per_hour": 7201`, []string{"groq/free/whisper-large-v3"}},
		{"groq/free/llama-3.3-70b-versatile", `"tpd": 100000`, `"tpd": 99999`, []string{"groq/free"}},
		{"anthropic/tier1/claude-sonnet-4.x", `"itpm": 30000`, `"itpm": 300000`, []string{"anthropic/tier1"}},
		{"deepseek/default/deepseek-v4-pro", `"concurrency": 500`, `"concurrency": 5000`, []string{"deepseek/default/deepseek-v4-pro", "deepseek/default"}},
		{"voyage/tier1/voyage-4-large", `"main": true, `, ``, []string{"voyage/tier1"}},
		{"arxiv/any/all-apis", `"min_interval_s": 3`, `"min_interval_s": 1`, []string{"arxiv/any/all-apis"}},
		{"shopify/standard/rest-admin", `"burst": 40`, `"burst": 80`, []string{"shopify/standard/rest-admin"}},
		{"gemini/free/gemini-2.5-pro", `America/Los_Angeles`, `UTC`, []string{"gemini/free/gemini-2.5-pro"}},
		{"jina/paid-key/rerank", `"pool": "jina/paid-key/embeddings-rerank", `, ``, []string{"jina/paid-key/rerank"}},
		{"voyage/no-payment-method", `"2025"`, `"2026"`, []string{"voyage/no-payment-method"}},
		{"deepseek/default/legacy", `"confidence": "high"`, `"confidence": "low"`, []string{"deepseek/default/legacy"}},
		{"generic/scraping-robots", `"dated": "estimated", `, ``, []string{"generic/scraping-robots"}},
		{"wikimedia/compliant-user-agent/all-apis", `"source": "wm"`, `"source": "cr"`, []string{"wikimedia/compliant-user-agent/all-apis"}},
	} {
		altered := alter(t, string(facts), tc.id, tc.was, tc.is)
		table, err := presets.Parse([]byte(altered))
		require.NoError(t, err, "%s", tc.id)
		assert.Equal(t, tc.fail, failing(table), "%s", tc.id)
	}
}

// alter writes is for was in the row called id.
func alter(t *testing.T, facts, id, was, is string) string {
	t.Helper()
	begin := strings.Index(facts, `{"id": "`+id+`"`)
	require.NotEqual(t, -1, begin, "%s", id)
	row, _, _ := strings.Cut(facts[begin:], "\n")
	require.Contains(t, row, was, "%s", id)
	return facts[:begin] + strings.Replace(row, was, is, 1) + facts[begin+len(row):]
}

// So does a user's file that is laid over the table.
func TestKnownRowsFailOnAnOverride(t *testing.T) {
	ours, err := presets.Parse([]byte(`{"sources": {"us": {"title": "our contract", "url": "https://example.com/contract"}}, "presets": [
		{"id": "crossref/public/list-query", "main": true, "rps": 2, "concurrency": 1, "source": "us", "as_of": "2026-11-20", "confidence": "high"},
		{"id": "notion/any/api", "rps": 4, "source": "us", "as_of": "2026-11-20", "confidence": "high"}]}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"notion/any/api", "crossref/public"}, failing(presets.Default().With(ours)))
	assert.Empty(t, failing(presets.Default()), "which has not changed")
	p, err := presets.Default().With(ours).Lookup("Notion/any/api")
	require.NoError(t, err)
	mine := known{limits: []limit{req(4, sec)}, url: "https://example.com/contract", date: "2026-11-20", confidence: high}
	assert.Empty(t, mine.differences(p))
}

func TestKnownRows(t *testing.T) {
	for _, k := range append(rows(), tiers()...) {
		p, err := presets.Lookup(k.ask)
		if k.kind == presets.KindUnavailable {
			var refused *presets.UnavailableError
			require.ErrorAs(t, err, &refused, "%s", k.ask)
			assert.Equal(t, presets.ID(k.ask), refused.ID)
		} else {
			require.NoError(t, err, "%s", k.ask)
		}
		assert.Empty(t, k.differences(p), "%s", k.ask)
		assert.Equal(t, presets.ID(strings.ToLower(k.ask)), p.ID)
		assert.Equal(t, strings.Split(strings.ToLower(k.ask), "/")[0], p.Provider)
		require.NoError(t, p.Limits.Validate(), "%s", k.ask)
	}
	assert.GreaterOrEqual(t, len(rows()), 60)
	asked := map[string]bool{}
	for _, k := range rows() {
		provider, _, _ := strings.Cut(strings.ToLower(k.ask), "/")
		asked[provider] = true
	}
	for _, provider := range presets.Default().Providers() {
		assert.True(t, asked[provider], "no row of %s is expected", provider)
	}
}

// Answers of a provider are read in its dialect; answers without a dialect are read by their content.
func TestKnownDialects(t *testing.T) {
	for name, want := range map[string]dialect.Name{
		"openai/tier1": dialect.OpenAI, "azure-openai/tier1": dialect.Azure, "anthropic/start": dialect.Anthropic, "gemini/free": dialect.Gemini,
		"mistral/free": dialect.Mistral, "groq/free": dialect.Groq, "cohere/trial": dialect.Cohere, "aws-bedrock/default/bedrock-runtime": dialect.Bedrock,
		"deepseek/default": dialect.DeepSeek, "xai/tier0": dialect.XAI, "openrouter/paid": dialect.OpenRouter, "huggingface/free": dialect.HuggingFace,
		"github/secondary": dialect.GitHub, "shopify/plus/graphql-admin": dialect.Shopify, "osm-nominatim/public/all": dialect.Nominatim, "ncbi-eutils/no-key/all": dialect.NCBI,
	} {
		p, err := presets.Lookup(name)
		require.NoError(t, err, "%s", name)
		assert.Equal(t, want, p.Dialect, "%s", name)
	}
	for _, name := range []string{"openalex/free-key/all", "datacite/identified/all", "sec-edgar/any/all", "generic/moderate"} {
		p, err := presets.Lookup(name)
		require.NoError(t, err, "%s", name)
		assert.Contains(t, []dialect.Name{dialect.Auto, dialect.Generic}, p.Dialect, "%s", name)
	}
}

func TestKnownNearMisses(t *testing.T) {
	for name, near := range map[string]presets.ID{
		"openai/tier1/gpt4o-mini":       "openai/tier1/gpt-4o-mini",
		"opnai/tier1":                   "openai/tier1",
		"openai/tier-1":                 "openai/tier1",
		"openai/tier6/gpt-4o":           "openai/tier5/gpt-4o",
		"antropic/start":                "anthropic/start",
		"anthropic/start/claude-opus5":  "anthropic/start/claude-opus-5",
		"groq/fre":                      "groq/free",
		"hugging-face/free/hub-api":     "huggingface/free/hub-api",
		"github/authenticated/rest-api": "github/authenticated/rest",
		"generic/conservativ":           "generic/conservative",
		"Arxiv/all-apis":                "arxiv/any/all-apis",
	} {
		_, err := presets.Lookup(name)
		var unknown *presets.UnknownError
		require.ErrorAs(t, err, &unknown, "%s", name)
		assert.Equal(t, name, unknown.Name)
		assert.Contains(t, unknown.Near, near, "%s", name)
		assert.ErrorContains(t, err, string(near))
	}
	_, err := presets.Lookup("")
	require.Error(t, err)
}

func TestKnownShares(t *testing.T) {
	p, err := presets.Lookup("openai/tier1/gpt-4o-mini")
	require.NoError(t, err)
	part, err := p.Scaled(0.8)
	require.NoError(t, err)
	k := rows()[0]
	assert.NotEmpty(t, k.differences(part))
	k.limits = []limit{req(400, minute), req(8000, day), tok(160_000, minute)}
	assert.Empty(t, k.differences(part))
}
