// Package interchange carries SLOs between agentslo files and the formats of
// other tools: OpenSLO (openslo/v1) and Sloth (prometheus/v1).
//
// Nothing is lost silently. What a format says and the other side has no place
// for comes back as a [Notice] with its position and key: an error where an SLO
// would mean something else without it, so that the SLO is left out, and a
// warning otherwise.
//
// It knows the PromQL that those formats hold in their queries, and turns it
// into counter selectors and back. It knows nothing of how rules are generated
// beyond the burn tiers, which OpenSLO has a place for.
package interchange
