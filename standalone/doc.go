// Package standalone is the whole of agentslo in one process, as `sloctl up`
// runs it: a Collector with both components, an embedded Prometheus, a query
// API and a page. Its parts are sub-packages; this one starts and stops them
// in order, so that nothing that was acknowledged is lost.
package standalone
