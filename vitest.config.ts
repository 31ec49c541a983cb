// Configures four kinds of tests: `pure` in Node, `hosts` there with programs that they start, `workerd` inside the runtime,
// `e2e` against a server started as users start it. `npx vitest run --project pure` runs one kind, `npx vitest run FILE` one
// file.
import { fileURLToPath } from 'node:url'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { bundledParts } from './test/support/bundled-parts.ts'
import { appBundle, pointToSource } from './scripts/lib/app-bundle.mjs'
import { LongestFirst } from './test/support/longest-first.ts'
import { dropExpectedMessages } from './test/support/runtime-messages.ts'

/** Backends that reach a host over HTTP. Their tests start that host, so they run in Node. So do the tables of media vendors. */
const remote = 'test/backends/{http,host,cloudflare,daytona,e2b,vercel,media,web,browser}/**/*.test.ts'

/** `npm run chaos` runs all rows of the long tables, and the tests that take a minute each. */
const isLong = process.env['TALARIA_LONG'] === 'all'

/** Chooses rows of long tables and tests that take turns (test/support/long.ts). `npm test` sets it. */
const rowSeed = Number(process.env['ROW_SEED'] ?? 1)
const takesTurns = !isLong && process.env['ROW_SEED'] !== undefined

const everywhere = {
  provide: { isLong, rowSeed, takesTurns },
  // Long enough for a busy machine; only a test that hangs exceeds them.
  testTimeout: 60_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 20_000 } },
}

/** Tests in Node, beside the checks. More workers than these slow each other down, and each evaluates the sources again. */
const inNode = {
  plugins: [bundledParts()],
  // Node has no such module. Parts of objects that tests use there extend its classes.
  resolve: {
    alias: { 'cloudflare:workers': fileURLToPath(new URL('test/support/runtime-classes.ts', import.meta.url)) },
  },
  test: { isolate: false, maxWorkers: 4, ...everywhere, setupFiles: ['test/support/property-seed.ts'] },
}

const pure = {
  ...inNode,
  test: {
    ...inNode.test,
    name: 'pure',
    include: ['test/{agent,tools,support,channels,web}/**/*.test.ts', 'bench/**/*.test.ts'],
  },
}

/** Tests that mostly wait for the programs that they start. */
const hosts = {
  ...inNode,
  test: {
    ...inNode.test,
    name: 'hosts',
    include: ['test/{scripts,sandbox}/**/*.test.ts', remote],
    globalSetup: ['test/backends/browser/support/shared-chromium.mjs'],
  },
}

/** The packages that tests inside workerd import themselves. Bundled, each is one module. */
const packages = [
  '@a2a-js/sdk',
  '@a2a-js/sdk/client',
  '@ag-ui/client',
  '@modelcontextprotocol/client',
  'fast-check',
  'jose',
  'openai',
  'tweetnacl',
  'zod',
]

/** Tests inside workerd. The files that one worker runs share its isolate, objects and database. */
const workerd = {
  plugins: [
    appBundle(),
    cloudflareTest(async () => ({
      main: './test/support/worker.ts',
      wrangler: { configPath: './test/support/wrangler.toml' },
      miniflare: {
        bindings: {
          MIGRATIONS: await readD1Migrations('./migrations'),
          ...(process.env['TREES'] && { TREES: process.env['TREES'], TREE_SEED: process.env['TREE_SEED'] ?? '1' }),
          ...(process.env['DEPLOYED_TURNS'] && { DEPLOYED_TURNS: process.env['DEPLOYED_TURNS'] }),
          ...(process.env['FLEET_TENANTS'] && {
            FLEET_TENANTS: process.env['FLEET_TENANTS'],
            FLEET_MESSAGES: process.env['FLEET_MESSAGES'] ?? '600',
          }),
          ...(process.env['FUZZ'] && { FUZZ: process.env['FUZZ'], FUZZ_SEED: process.env['FUZZ_SEED'] ?? '1' }),
        },
      },
    })),
  ],
  test: {
    name: 'workerd',
    isolate: false,
    ...everywhere,
    include: ['test/{backends,db,durable,worker}/**/*.test.ts'],
    exclude: [remote],
    onStackTrace: pointToSource,
    setupFiles: ['test/support/setup.ts', 'test/support/property-seed.ts'],
    deps: { optimizer: { ssr: { enabled: true, include: packages } } },
    sequence: { groupOrder: 1 },
  },
}

const e2e = {
  test: {
    name: 'e2e',
    maxWorkers: 4,
    // Loading the packages of clients and of the browser takes as long as many tests. Two long files would share servers.
    isolate: isLong,
    include: ['test/e2e/**/*.test.ts'],
    exclude: isLong ? [] : ['test/e2e/long/**'],
    // Files share a server; files that kill one start their own. Four run at a time, because they mostly wait.
    globalSetup: ['test/e2e/support/shared.ts'],
    // Runs after the other projects, so that nothing slows down the servers that it starts and kills.
    sequence: { groupOrder: 2 },
    ...everywhere,
    teardownTimeout: 20_000,
  },
}

for (const stream of [process.stdout, process.stderr]) dropExpectedMessages(stream)

// Inside workerd seven files run at a time even on two cores, because a test waits more than it computes. Console output is shown only
// for tests that fail.
export default defineConfig({
  test: {
    maxWorkers: 7,
    sequence: { sequencer: LongestFirst },
    silent: 'passed-only',
    // The runner does not wait for lines that are on their way to it when a file ends, and reports them as errors.
    onUnhandledError: ({ message }) => message !== '[vitest-worker]: Closing rpc while "onUserConsoleLog" was pending',
    projects: [pure, hosts, workerd, e2e],
  },
})
