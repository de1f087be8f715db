package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/store"
)

func newMigrate() *cobra.Command {
	var asSQL, asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make or update the database's schema",
		Long: `Apply the migrations that the database doesn't have yet, all of them in one
transaction. It is safe to repeat, and from several machines at once.
--sql prints what would run on an empty database and touches none.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asSQL {
				return dumpSchema(cmd)
			}
			done, err := migrate(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return printMigrations(cmd.OutOrStdout(), done)
			}
			if len(done) == 0 {
				say(cmd.OutOrStdout(), "nothing to do: the schema is up to date\n")
			}
			for _, m := range done {
				say(cmd.OutOrStdout(), "applied %04d %s\n", m.Version, m.Name)
			}
			return nil
		},
	}
	addConfigFlags(cmd)
	addEmbeddedFlags(cmd)
	cmd.Flags().BoolVar(&asSQL, "sql", false, "print the SQL instead")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func migrate(cmd *cobra.Command) ([]store.Migration, error) {
	log, err := newLog(cmd, "warn")
	if err != nil {
		return nil, err
	}
	live, err := openConfig(cmd, log)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(cmd.Context(), cmd, live.Current().Database, log)
	if err != nil {
		return nil, err
	}
	done, err := db.migrate(cmd.Context(), "migrate")
	return done, errors.Join(err, db.close())
}

func dumpSchema(cmd *cobra.Command) error {
	log, err := newLog(cmd, "warn")
	if err != nil {
		return err
	}
	live, err := openConfig(cmd, log)
	if err != nil {
		return err
	}
	sql, err := store.DumpSQL(live.Current().Database.Schema)
	if err != nil {
		return failed("migrate", err)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), sql)
	return err
}

func printMigrations(w io.Writer, done []store.Migration) error {
	type step struct {
		Version int    `json:"version"`
		Name    string `json:"name"`
	}
	steps := make([]step, len(done))
	for i, m := range done {
		steps[i] = step{m.Version, m.Name}
	}
	return printJSON(w, struct {
		Applied []step `json:"applied"`
	}{steps})
}
