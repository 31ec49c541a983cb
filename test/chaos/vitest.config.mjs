// Runs against a server that is killed; minutes long, so not part of `npm test`. See scripts/chaos.mjs.
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
