/** Runs the scenarios of the official conformance suite that have no sign-in against our MCP client. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isLong } from '../../support/long.ts'

const folder = dirname(fileURLToPath(import.meta.url))
const suite = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)
let results = ''
beforeAll(() => void (results = mkdtempSync(join(tmpdir(), 'conformance-'))))
afterAll(() => rmSync(results, { recursive: true, force: true }))

/** The first ones run with every change, all of them in `npm run chaos`. */
const always = 4
const scenarios = [
  ['2026-07-28', 'http-invalid-tool-headers'],
  ['2026-07-28', 'sep-2322-client-request-state'],
  ['2025-11-25', 'elicitation-sep1034-client-defaults'],
  ['2025-11-25', 'sse-retry'],
  ['2026-07-28', 'tools_call'],
  ['2026-07-28', 'request-metadata'],
  ['2026-07-28', 'http-standard-headers'],
  ['2026-07-28', 'http-custom-headers'],
  ['2026-07-28', 'json-schema-ref-no-deref'],
  ['2026-07-28', 'json-schema-2020-12-preservation'],
  ['2025-11-25', 'initialize'],
  ['2025-11-25', 'tools_call'],
  ['2025-11-25', 'json-schema-2020-12-preservation'],
] as const

/** The status is 0 when all checks pass, except those of the file of expected failures, which must fail. */
function run(version: string, scenario: string): Promise<{ readonly status: number | null; readonly said: string }> {
  const program = `"${process.execPath}" "${join(folder, 'mcp-client.ts')}"`
  const more = ['--expected-failures', join(folder, 'expected-failures.yml'), '-o', results]
  const child = spawn(process.execPath, [
    suite,
    'client',
    '--command',
    program,
    '--scenario',
    scenario,
    '--spec-version',
    version,
    ...more,
  ])
  let said = ''
  child.stdout.on('data', (data: Buffer) => (said += data.toString()))
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, said })))
}

it.each(isLong ? scenarios : scenarios.slice(0, always))(
  'the client of %s passes %s',
  { timeout: 60_000 },
  async (version, scenario) => {
    const { status, said } = await run(version, scenario)
    expect(said).toMatch(/Passed: (\d+)\/\1, 0 failed/)
    expect(status).toBe(0)
  },
)
