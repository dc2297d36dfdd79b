// Package frameworks records what real agent frameworks emit, and what truly
// happened while they did.
//
// Each folder of agents is a small program on one framework, at the exact
// versions of its lock file. It runs one scenario at a time in a [World] of
// this process: a scripted model server, the tools, and a telemetry backend,
// all on the loopback interface. So the truth of a run is known from outside of
// the program: the model server knows its replies and their tokens, the tools
// know how each call ended, and the scenario how the run ends.
//
// testdata holds the recordings, one file a run, laid out so that a new release
// of a framework is a diff to read: an attribute a line, ids and times counted
// from a fixed start. `make record-frameworks` records them anew; a recording
// in which nothing but times differs stays as it is.
package frameworks
