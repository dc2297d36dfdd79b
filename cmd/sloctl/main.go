// Command sloctl keeps error budgets for AI agents: it checks SLO files,
// generates Prometheus rules and dashboards from them, runs the whole pipeline
// in one process, and tells a person or a CI job what is left of a budget.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
