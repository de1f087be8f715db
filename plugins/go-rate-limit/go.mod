module github.com/taskq-host/taskq-host/plugins/go-rate-limit

go 1.24

require github.com/taskq-host/taskq-host/sdk-guest/go v0.0.0

replace github.com/taskq-host/taskq-host/sdk-guest/go => ../../sdk-guest/go
