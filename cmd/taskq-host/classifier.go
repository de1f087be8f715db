package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/client"
)

func newClassifier() *cobra.Command {
	return group("classifier", "Push, list, show, delete and try classifiers",
		newClassifierPush(), newClassifierList(), newClassifierShow(), newClassifierDelete(), newClassifierTry())
}

func newClassifierPush() *cobra.Command {
	var name string
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "push <file.wasm|folder>...",
		Short: "Push modules as the next versions of classifiers",
		Long: `Push modules: each becomes the next version of the classifier that has the name
of its file. A classifier exports taskq_v1_classify and is a pure function of its
input: of taskq_v1 it may import input_read, output_write, log and panic. It is
asked by the chains that name it in the configuration.`,
		Args: atLeast("file.wasm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			modules, err := modulesIn(args, name)
			if err != nil {
				return err
			}
			return pushAll(cmd, modules, (*client.Client).PushClassifier, dryRun, asJSON)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the classifier, for a single module (default: the file's)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "judge, and store nothing")
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newClassifierList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List classifiers",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			found, err := c.Classifiers(cmd.Context())
			if err != nil {
				return apiError("classifier list", err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					Classifiers []client.Actor `json:"classifiers"`
				}{orEmpty(found)})
			}
			t := newTable(cmd.OutOrStdout(), "CLASSIFIER", "VERSION", "SIZE", "POOLABLE", "PUSHED")
			for _, a := range found {
				t.row(a.Name, fmt.Sprint(a.Version), sizeText(int64(a.Size)), yesNo(a.Poolable), ago(a.CreatedAt))
			}
			return t.flush()
		},
	}
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newClassifierShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show <name>",
		Short: "Show a classifier's current version",
		Args:  exactly("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			a, err := c.Classifier(cmd.Context(), args[0])
			if err != nil {
				return apiError("classifier "+args[0], err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), a)
			}
			return printActor(cmd, "classifier", a)
		},
	}
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newClassifierDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete <name>",
		Short: "Delete a classifier with all its versions",
		Long: `Delete a classifier with all its versions. Chains that name it skip it from
then on, with a warning each time.`,
		Args: exactly("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			if err := c.DeleteClassifier(cmd.Context(), args[0]); err != nil {
				return apiError("classifier "+args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", args[0])
			return err
		},
	}
	addServerFlags(cmd)
	return cmd
}
