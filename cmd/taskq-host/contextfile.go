package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// contexts is the context file: the servers that this user has a token for. A
// token belongs to one address and is never sent to another.
type contexts struct {
	Current string            `json:"current"` // the address that commands talk to unless told
	Servers map[string]access `json:"servers"` // by address, e.g. http://127.0.0.1:8420
}

type access struct {
	Token string `json:"token"`
}

// readContexts reads the context file; a missing one is empty.
func readContexts(path string) (contexts, error) {
	c := contexts{Servers: map[string]access{}}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w; remove it, and taskq-host dev makes a new one", path, err)
	}
	if c.Servers == nil {
		c.Servers = map[string]access{}
	}
	return c, nil
}

// keep stores the token for an address.
func (c contexts) keep(path, address, token string) error {
	c.Servers[address] = access{Token: token}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(b, '\n'))
}

// readToken reads a token from a file, or from stdin for "-".
func readToken(file string, stdin io.Reader) (string, error) {
	var b []byte
	var err error
	if file == "-" {
		b, err = io.ReadAll(io.LimitReader(stdin, 4096))
	} else {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", errors.New("is empty")
	}
	return token, nil
}
