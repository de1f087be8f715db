package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/taskq-host/taskq-host/embedpg"
)

// cluster is the server that everything in a run is measured on, with durable
// settings.
type cluster struct {
	dsn     func(database string) string
	version string
	data    string
	stop    func()
	name    int
}

func startCluster(ctx context.Context) (*cluster, error) {
	dir, err := os.MkdirTemp(benchRoot(), "taskq-bench-")
	if err != nil {
		return nil, err
	}
	server, err := embedpg.Start(ctx, embedpg.Options{Dir: dir, Settings: map[string]string{
		"shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "15min", "max_connections": "200",
	}})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &cluster{dsn: server.DSN, version: server.Version(), data: filepath.Join(dir, "data"), stop: func() {
		_ = server.Close()
		_ = os.RemoveAll(dir)
	}}, nil
}

// benchRoot is where the cluster lies: on a disk, since the figures are of a
// durable server, and where root's postgres may enter.
func benchRoot() string {
	if os.Geteuid() == 0 {
		return "/var/lib"
	}
	return ""
}

// database makes an empty one and answers its DSN.
func (c *cluster) database(ctx context.Context) (string, error) {
	c.name++
	name := fmt.Sprintf("bench%d", c.name)
	conn, err := pgx.Connect(ctx, c.dsn("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "CREATE DATABASE " + name, "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	return c.dsn(name), nil
}

// wal answers how many bytes of write-ahead log the function's work made.
func wal(ctx context.Context, dsn string, work func() error) (float64, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var before string
	if err := conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&before); err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	var bytes float64
	err = conn.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn)::float8", before).Scan(&bytes)
	return bytes, err
}
