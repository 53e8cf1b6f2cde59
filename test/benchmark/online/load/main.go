// What a benchmark needs beside what it measures: an engine that answers after a set service time, a pacer that says when to
// send, and a client that shows what this machine lets any client see. `load engine ANSWERS.json` prints its port, `load pacer
// RATE SECONDS SEED` stamps.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "engine":
			exit(serve(os.Args[2:]))
		case "client":
			exit(ask(os.Args[2:]))
		case "pacer":
			exit(pace(os.Args[2:]))
		}
	}
	exit(fmt.Errorf("usage: load engine ANSWERS.json | load pacer RATE SECONDS SEED | load client SPEC"))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
