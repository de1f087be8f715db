package main

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/client"
)

const defaultServer = "http://127.0.0.1:8420"

func addServerFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("server", "", "`address` of the host (TASKQ_SERVER; default: the context file's, else "+defaultServer+")")
	f.String("token-file", "", "`file` with the token, - for stdin (TASKQ_TOKEN is the token itself; default: the context file's for this address)")
	f.String("token", "", "the same as --token-file")
	_ = f.MarkHidden("token") // it exists
}

// dial makes a client of the server that flags, the environment or the context
// file name. watch, which may be nil, wraps what the client sends through.
func dial(cmd *cobra.Command, watch func(http.RoundTripper) http.RoundTripper) (*client.Client, error) {
	known, err := savedContexts()
	if err != nil {
		return nil, err
	}
	address := serverAddress(cmd, known)
	token, err := tokenFor(cmd, known, address)
	if err != nil {
		return nil, err
	}
	o := client.Options{URL: address, Token: token, UserAgent: "taskq-host/" + thisRelease().Version}
	if watch != nil {
		o.HTTP = &http.Client{
			Transport: watch(http.DefaultTransport),
			// A redirect would send the token somewhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	c, err := client.New(o)
	if err != nil {
		return nil, badInput("--server", err)
	}
	return c, nil
}

// savedContexts is the context file, or nothing where there can't be one.
func savedContexts() (contexts, error) {
	path, err := contextPath()
	if err != nil {
		return contexts{}, nil //nolint:nilerr // without a home there is no context file, and flags do
	}
	known, err := readContexts(path)
	if err != nil {
		return known, failed("context file", err)
	}
	return known, nil
}

func serverAddress(cmd *cobra.Command, known contexts) string {
	address := flagOrEnv(cmd, "server", "TASKQ_SERVER")
	switch {
	case address == "" && known.Current != "":
		return known.Current
	case address == "":
		return defaultServer
	case !strings.Contains(address, "://"):
		address = "http://" + address
	}
	return strings.TrimRight(address, "/")
}

func tokenFor(cmd *cobra.Command, known contexts, address string) (string, error) {
	for _, flag := range []string{"token-file", "token"} {
		file, err := cmd.Flags().GetString(flag)
		if err != nil || file == "" {
			continue
		}
		if strings.HasPrefix(file, "tq_") {
			return "", badInputf("--"+flag, "a token on the command line can be seen by everybody: put it into a file, - or TASKQ_TOKEN")
		}
		token, err := readToken(file, cmd.InOrStdin())
		if err != nil {
			return "", badInput("--"+flag, err)
		}
		return token, nil
	}
	if token := os.Getenv("TASKQ_TOKEN"); token != "" {
		return token, nil
	}
	if token := known.Servers[address].Token; token != "" {
		return token, nil
	}
	return "", &failure{exitNoAccess, "token", errors.New("there is none for " + address + ": start taskq-host dev, or give --token-file or TASKQ_TOKEN")}
}

// apiError gives what the client says its exit code.
func apiError(what string, err error) error {
	if err == nil {
		return nil
	}
	var p *client.Problem
	var transport *url.Error
	switch {
	case errors.As(err, &p):
		return &failure{problemCode(p.Status), what, err}
	case errors.Is(err, client.ErrUnreachable):
		if errors.As(err, &transport) {
			return &failure{exitUnreachable, what, errors.New("can't reach " + hostOf(transport.URL) + ": " + transport.Err.Error() + "; is taskq-host dev running?")}
		}
		return &failure{exitUnreachable, what, err}
	}
	return failed(what, err)
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Scheme + "://" + u.Host
}

func problemCode(status int) int {
	switch status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitNoAccess
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return exitBadInput
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnreachable
	}
	return exitFailed
}
