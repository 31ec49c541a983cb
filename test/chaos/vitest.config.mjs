// Configures the tests that kill a real server. They take minutes, so only scripts/chaos.mjs runs them.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/chaos/**/*.test.mjs'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 240_000,
    teardownTimeout: 20_000,
  },
})
