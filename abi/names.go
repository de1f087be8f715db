// Package abi is the contract between the host and a module that somebody
// compiled, in any language, with or without an SDK of ours: names, records,
// classes and limits of version 1. README.md beside this file tells it to
// people; this package is what the host's other packages and tools share.
//
// It imports nothing of ours.
package abi

import "time"

// Module is the import module of the functions that the host offers. The
// major version is part of every name, so there is no handshake: an addition
// keeps the name, a break gets taskq_v2 beside it.
const Module = "taskq_v1"

// ReservedPrefix begins the names that only this contract may use for exports.
const ReservedPrefix = "taskq_"

// WASIModule is the import module of the host's own WASI preview 1 shim.
const WASIModule = "wasi_snapshot_preview1"

// AssemblyScriptModule is the import module of abort, seed and trace.
const AssemblyScriptModule = "env"

// Exports of a guest.
const (
	ExportMemory     = "memory"
	ExportRun        = "taskq_v1_run"
	ExportClassify   = "taskq_v1_classify"
	ExportHook       = "taskq_v1_hook"
	ExportCron       = "taskq_v1_cron"
	ExportDescribe   = "taskq_v1_describe"
	ExportInitialize = "_initialize"
	ExportWarm       = "taskq_v1_warm"
	ExportResume     = "taskq_v1_resume"
	ExportStart      = "_start"
)

// Mode is how a module is entered.
type Mode string

const (
	// Reactor modules export at least one taskq_v1_* entry.
	Reactor Mode = "reactor"
	// Command modules export _start and no taskq_v1_* entry.
	Command Mode = "command"
)

// Kind says which entry an execution uses; it is meta.kind.
type Kind string

// Kinds of execution.
const (
	KindRun      Kind = "run"
	KindClassify Kind = "classify"
	KindHook     Kind = "hook"
	KindCron     Kind = "cron"
	KindDescribe Kind = "describe"
)

// Code is what an import returns in place of a length when it could not do
// its work.
type Code int32

// Codes that imports answer.
const (
	CodeOK          Code = 0
	CodeNotFound    Code = -1
	CodeDenied      Code = -2
	CodeTooLarge    Code = -3
	CodeInvalid     Code = -4
	CodeLimit       Code = -5
	CodeCanceled    Code = -6
	CodeUnavailable Code = -7
	CodeTimeout     Code = -8
	CodeConflict    Code = -9
	CodeFault       Code = -10
)

// Level is the severity of a log line.
type Level int32

// Levels of log lines, from the least severe to the most.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// Bits of the heartbeat's answer.
const (
	HeartbeatCancel       uint32 = 1 // somebody asked to cancel the job
	HeartbeatDraining     uint32 = 2 // the worker is stopping
	HeartbeatDeadlineNear uint32 = 4 // less than DeadlineNear is left
	HeartbeatLeaseLost    uint32 = 8 // the attempt is no longer ours
)

// DeadlineNear is how long before the attempt's deadline the heartbeat begins
// to say so.
const DeadlineNear = 10 * time.Second

// Limits as shipped. Bytes unless named otherwise.
const (
	MaxPayload     = 1 << 20
	MaxResult      = 64 << 10
	MaxProgress    = 16 << 10
	MaxMessage     = 4 << 10
	MaxStack       = 64 << 10
	MaxDetails     = 16 << 10
	MaxClass       = 256
	MaxAncestors   = 32
	MaxCauses      = 8
	MaxModule      = 16 << 20
	MaxFailure     = 256 << 10
	MaxStdio       = 64 << 10
	MaxLogBytes    = 256 << 10 // one attempt
	MaxLogsPerSec  = 100       // lines a second, one attempt
	MaxLogLine     = 16 << 10
	MaxHeaders     = 32
	MaxHeaderBytes = 8 << 10
	MaxTags        = 16
	MaxTagBytes    = 128
	MaxBatch       = 10_000
	MaxPage        = 1_000
	MaxNameBytes   = 240
	MaxMaxAttempts = 32_766
	PageSize       = 64 << 10 // of linear memory
	ControlPrefix  = "@taskq "
)

// Exit codes of a command, after sysexits.h.
const (
	ExitSuccess  = 0
	ExitUsage    = 64
	ExitDataErr  = 65
	ExitTempFail = 75
	ExitNoPerm   = 77
)

// Environment of a command.
const (
	EnvJobID       = "TASKQ_JOB_ID"
	EnvAttempt     = "TASKQ_ATTEMPT"
	EnvMaxAttempts = "TASKQ_MAX_ATTEMPTS"
	EnvTenant      = "TASKQ_TENANT"
	EnvQueue       = "TASKQ_QUEUE"
	EnvActor       = "TASKQ_ACTOR"
	EnvDeadlineMS  = "TASKQ_DEADLINE_MS"
	EnvTraceparent = "TASKQ_TRACEPARENT"
)

// ValidName reports whether s may name an actor, queue, tenant, classifier or
// schedule: [a-z0-9][a-z0-9._-]{0,239}.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxNameBytes {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// NameRule is the sentence that goes with a name that ValidName refused.
const NameRule = "must match [a-z0-9][a-z0-9._-]{0,239}"
