package main

import "github.com/spf13/cobra"

func newActor() *cobra.Command {
	return group("actor", "Push, list, show, run and check actors", newActorRun(), newActorCheck())
}
