package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/store"
)

// tokenRoles are what a token may be good for, each more than the one before.
var tokenRoles = []string{"submitter", "operator", "admin", "platform"}

func newToken() *cobra.Command {
	return group("token", "Make tokens for the API", newTokenAdd())
}

func newTokenAdd() *cobra.Command {
	var role, tenant string
	cmd := &cobra.Command{
		Use:   "add <name>",
		Short: "Make a bearer token and print it, once",
		Long: `Make a token for the API, straight in the configured database, and print it. It
is shown once and stored hashed. An older token of the same name stops working.`,
		Args: exactly("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !abi.ValidName(args[0]) {
				return badInputf("name", "%q %s", args[0], abi.NameRule)
			}
			if !slices.Contains(tokenRoles, role) {
				return badInputf("--role", "%q is none of %s", role, strings.Join(tokenRoles, ", "))
			}
			return addToken(cmd, tenant, args[0], role)
		},
	}
	cmd.Flags().StringVar(&role, "role", "operator", "what it is good for: "+strings.Join(tokenRoles, ", "))
	cmd.Flags().StringVar(&tenant, "tenant", store.DefaultTenant, "whose things it reaches")
	addConfigFlags(cmd)
	addEmbeddedFlags(cmd)
	return cmd
}

func addToken(cmd *cobra.Command, tenantName, name, role string) (err error) {
	log, err := newLog(cmd, "warn")
	if err != nil {
		return err
	}
	live, err := openConfig(cmd, log)
	if err != nil {
		return err
	}
	db, err := openDatabase(cmd.Context(), cmd, live.Current().Database, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	if err := db.requireMigrated(cmd.Context(), "token"); err != nil {
		return err
	}
	tenant, err := db.Tenant(cmd.Context(), tenantName)
	if errors.Is(err, store.ErrNotFound) {
		return &failure{exitNotFound, "", err}
	}
	if err != nil {
		return failed("", err)
	}
	token, err := db.IssueToken(cmd.Context(), tenant, name, role)
	if err != nil {
		return failed("", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
	return err
}
