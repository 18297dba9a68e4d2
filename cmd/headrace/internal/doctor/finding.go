package doctor

import "fmt"

// Severity is the effect of a Finding on calls.
type Severity string

// The severities.
const (
	Problem Severity = "problem" // calls fail, or limits are exceeded
	Warning Severity = "warning" // calls work, but with a disadvantage
	Note    Severity = "note"    // worth knowing; nothing has to be done
)

// Finding is one result of an examination.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Where    string   `json:"where"`
	Problem  string   `json:"problem"`
	Remedy   string   `json:"remedy,omitempty"`
}

// Code identifies a kind of finding, for scripts.
type Code string

// The codes. docs/doctor.md describes each of them.
const (
	ConfigInvalid    Code = "config_invalid"
	LocalOnly        Code = "local_only"
	PresetStale      Code = "preset_stale"
	PoolShared       Code = "pool_shared"
	StoreUnreachable Code = "store_unreachable"
	StoreAbsent      Code = "store_absent"
	StoreForeign     Code = "store_foreign"
	StoreSlow        Code = "store_slow"
	StoreEvicts      Code = "store_evicts"
	StoreVolatile    Code = "store_volatile"
	StoreReplica     Code = "store_replica"
	StoreUnknown     Code = "store_unknown"
	ClockOffset      Code = "clock_offset"
	LimitsDiffer     Code = "limits_differ"
	KeyDamaged       Code = "key_damaged"
	GroupAbsent      Code = "group_absent"
	GroupStopped     Code = "group_stopped"
	GroupUnreachable Code = "group_unreachable"
	GroupSplit       Code = "group_split"
	ProgramDown      Code = "program_down"
	LimiterClosed    Code = "limiter_closed"
	LimiterPaused    Code = "limiter_paused"
	LimiterDegraded  Code = "limiter_degraded"
	BreakerOpen      Code = "breaker_open"
	ServiceDown      Code = "service_down"
	ServiceConfig    Code = "service_config"
	ServiceRestart   Code = "service_restart"
	RetriesTwice     Code = "retries_twice"
	ProxyDown        Code = "proxy_down"
)

// Codes returns all codes.
func Codes() []Code {
	return []Code{
		ConfigInvalid, LocalOnly, PresetStale, PoolShared, StoreUnreachable, StoreAbsent, StoreForeign, StoreSlow, StoreEvicts,
		StoreVolatile, StoreReplica, StoreUnknown, ClockOffset, LimitsDiffer, KeyDamaged, GroupAbsent, GroupStopped, GroupUnreachable,
		GroupSplit, ProgramDown,
		LimiterClosed, LimiterPaused, LimiterDegraded, BreakerOpen, ServiceDown, ServiceConfig, ServiceRestart, RetriesTwice, ProxyDown,
	}
}

// add records a finding. The remedy may be empty.
func (r *Report) add(s Severity, c Code, where, remedy, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Severity: s, Code: c, Where: where, Remedy: remedy, Problem: fmt.Sprintf(format, args...)})
}

// Healthy reports whether there are only notes.
func (r *Report) healthy() bool {
	for i := range r.Findings {
		if r.Findings[i].Severity != Note {
			return false
		}
	}
	return true
}
