// Three kinds of tests: `pure` in Node, `workerd` inside the runtime, `e2e` against a server started as users start it.
// `npx vitest run --project pure` runs one of them, a file name after it one file.
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

/** Backends that reach a machine over HTTP: their tests start it. */
const remote = 'test/backends/{http,host,cloudflare,daytona,e2b,vercel}/**/*.test.ts'

/** What hangs is found; what is only slow, because the machine is busy, is none of a test's business. */
const patience = { testTimeout: 60_000, hookTimeout: 90_000 }

const pure = {
  test: {
    name: 'pure',
    ...patience,
    include: ['test/{agent,tools,support,scripts,channels,sandbox}/**/*.test.ts', remote, 'bench/**/*.test.ts'],
  },
}

const workerd = {
  plugins: [
    cloudflareTest(async () => ({
      main: './test/support/worker.ts',
      wrangler: { configPath: './test/support/wrangler.toml' },
      miniflare: { bindings: { MIGRATIONS: await readD1Migrations('./migrations') } },
    })),
  ],
  test: {
    name: 'workerd',
    ...patience,
    include: ['test/{backends,db,durable,worker}/**/*.test.ts'],
    setupFiles: ['test/support/rpc-paths.ts'],
    exclude: [remote],
    // Every file imports the whole app anew; bundled once, that is a third faster.
    deps: {
      optimizer: {
        ssr: {
          enabled: true,
          include: [
            '@anthropic-ai/sdk/client',
            'aws4fetch',
            'diff',
            'drizzle-orm',
            'drizzle-orm/d1',
            'drizzle-orm/sqlite-core',
            'eventsource-parser',
            'fast-check',
            'hono',
            'hono/cors',
            'openai',
            'zod',
          ],
        },
      },
    },
  },
}

const e2e = {
  test: {
    name: 'e2e',
    maxWorkers: 2,
    include: ['test/e2e/**/*.test.ts'],
    // Files share a server; those that kill one have their own. Two at a time: they wait more than they compute.
    globalSetup: ['test/e2e/support/shared.ts'],
    // After the others: what starts servers and kills them is disturbed by nothing.
    sequence: { groupOrder: 1 },
    ...patience,
    teardownTimeout: 20_000,
  },
}

// Three files at a time, on two cores as well: a test waits as much as it computes.
export default defineConfig({ test: { maxWorkers: 3, projects: [pure, workerd, e2e] } })
