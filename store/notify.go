package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Wake-ups are hints: polling is the truth. NOTIFY is sent outside the
// enqueuing transaction and coalesced, since a commit with a pending
// notification takes a lock on the whole database.

func (s *Store) channel() string { return s.schema.name + "_ready" }

// Notify tells listening workers that a queue has work.
func (s *Store) Notify(ctx context.Context, queue string) error {
	id, err := s.QueueID(ctx, queue)
	if err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.channel(), strconv.Itoa(int(id))); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// WakeBeat is the name with which Listen's wake is called when workers should
// hear of a cancel before their next heartbeat. No queue can have it.
const WakeBeat = "/beat"

// NotifyCancel tells workers to ask for cancels now.
func (s *Store) NotifyCancel(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.channel(), WakeBeat); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// listenPing is how long a listener may hear nothing before it asks whether
// the connection still lives.
const listenPing = 15 * time.Second

// Listen calls wake with a queue's name for each wake-up, and with "" after
// each (re)connect, when any queue may have work. It reconnects by itself and
// returns when ctx ends. url is the direct connection's; "" uses the pool's.
func (s *Store) Listen(ctx context.Context, url string, wake func(queue string)) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		started := time.Now()
		err := s.listenOnce(ctx, url, wake)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > time.Minute {
			wait = 100 * time.Millisecond
		}
		s.log.Warn("the listener lost its connection; polling goes on", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, url string, wake func(string)) error {
	cfg := s.pool.Config().ConnConfig.Copy()
	if url != "" {
		direct, err := pgx.ParseConfig(url)
		if err != nil {
			return err
		}
		direct.RuntimeParams["application_name"] = "taskq-host listener"
		cfg = direct
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	listening, cancel := context.WithTimeout(ctx, listenPing)
	defer cancel()
	if _, err := conn.Exec(listening, "LISTEN "+s.channel()); err != nil {
		return err
	}
	wake("")
	for {
		if err := s.hear(ctx, conn, wake); err != nil {
			return err
		}
	}
}

// hear waits for one notification, or finds out whether the silent connection
// still lives.
func (s *Store) hear(ctx context.Context, conn *pgx.Conn, wake func(string)) error {
	waiting, cancel := context.WithTimeout(ctx, listenPing)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	if err != nil {
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		pinging, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return conn.Ping(pinging)
	}
	if n.Payload == WakeBeat {
		wake(WakeBeat)
		return nil
	}
	id, err := strconv.Atoi(n.Payload)
	if err != nil {
		return nil // somebody else's notification: a hint may be wrong
	}
	name, err := s.QueueName(ctx, int32(id))
	if err != nil {
		wake("")
		return nil
	}
	wake(name)
	return nil
}
