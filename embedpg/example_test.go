package embedpg_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/taskq-host/taskq-host/embedpg"
)

// A program calls Supervise before anything else: Start re-executes it.
func Example() {
	embedpg.Supervise()
	ctx := context.Background()
	server, err := embedpg.Start(ctx, embedpg.Options{})
	if err != nil {
		log.Fatal(err) // says what to type when something is missing
	}
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		log.Fatal(err)
	}
	var version string
	if err := conn.QueryRow(ctx, "show server_version").Scan(&version); err != nil {
		log.Fatal(err)
	}
	fmt.Println(version)
	if err := conn.Close(ctx); err != nil {
		log.Fatal(err)
	}
	if err := server.Close(); err != nil {
		log.Fatal(err)
	}
}
