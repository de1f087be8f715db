module github.com/taskq-host/taskq-host/sdk-guest/go

go 1.24
