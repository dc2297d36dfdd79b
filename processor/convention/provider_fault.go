package convention

// ProviderFault is what a failed model call says of trouble at its provider. A
// call that was wrong itself, was not allowed, or has used up its quota is no
// fault of the provider.
type ProviderFault uint8

const (
	NoFault     ProviderFault = iota
	CircuitOpen               // a circuit breaker before the provider let no call through
	RateLimited               // 429, throttling
	Overloaded                // 529, "overloaded"
	TimedOut                  // 408, 504, no answer in time
	Unavailable               // any other 5xx, or no connection
)

// String is the fault's label value; "" for none.
func (p ProviderFault) String() string {
	return [...]string{"", "circuit_open", "rate_limit", "overloaded", "timeout", "unavailable"}[p]
}

// or is the more exact of two: the one that stands first above.
func (p ProviderFault) or(q ProviderFault) ProviderFault {
	if p == NoFault || q != NoFault && q < p {
		return q
	}
	return p
}

// faultRules are tried in order: the first whose word stands in the text, or
// whose HTTP status, decides.
var faultRules = []struct {
	fault ProviderFault
	codes [2]int
	words []string // in lower case
}{
	{CircuitOpen, [2]int{}, []string{"circuit breaker", "circuitbreaker", "circuit open", "circuit is open", "brokencircuit", "callnotpermitted"}},
	{RateLimited, [2]int{429}, []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "toomanyrequests", "throttl",
		"resource_exhausted", "resource exhausted"}},
	{Overloaded, [2]int{529}, []string{"overload", "at capacity", "over capacity", "server is busy"}},
	{TimedOut, [2]int{408, 504}, []string{"timeout", "timed out", "time-out", "etimedout", "deadline exceeded", "deadline_exceeded",
		"deadlineexceeded"}},
}

// providerFault reads one text of a failed model call. Whether it is the
// provider's fault at all is up to the failure's class, see [Facts.settle]: what
// no rule knows is unavailability, if it is transient.
func providerFault(s string, found match) ProviderFault {
	code := statusCode(s)
	for i, rule := range faultRules {
		if int(found.fault) == i || code != 0 && (rule.codes[0] == code || rule.codes[1] == code) {
			return rule.fault
		}
	}
	return Unavailable
}
