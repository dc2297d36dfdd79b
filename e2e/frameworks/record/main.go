// Command record runs the agents through their scenarios, each in a world of
// its own, and keeps what differs from the recordings in testdata.
//
//	go run ./e2e/frameworks/record [AGENT…]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/agentslo/agentslo/e2e/frameworks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := os.Getwd()
	if err == nil {
		err = frameworks.Update(ctx, root, os.Args[1:], os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(2)
	}
}
