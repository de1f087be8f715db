package embedpg_test

import "testing"

func mount(t *testing.T, _, _ string) { t.Skip("mounting is for Linux") }

func remountReadOnly(*testing.T, string) {}

func unmount(*testing.T, string) {}
