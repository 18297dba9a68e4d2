// Package quota lists by which codes a used-up quota is known.
package quota

// Codes are words in lower case: the codes and types of an error that say that
// a quota or a balance is used up, or the account closed. They are from OpenAI's
// and Anthropic's error references, read in 2026, and those of compatible providers.
const Codes = "insufficient_quota credit_balance_exhausted organization_spend_limit_exceeded project_spend_limit_exceeded " +
	"organization_usage_limit_exceeded billing_hard_limit_reached billing_not_active access_terminated enforced_spend_limit_reached"
