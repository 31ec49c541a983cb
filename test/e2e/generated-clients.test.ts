/** Validates the OpenAPI document and generates two clients from it, which compile in strict mode and work. */

import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { compileCache } from '../support/compile-cache.mjs'
import { owner, server } from './support/here.ts'
import { root } from './support/server.ts'

const run = promisify(execFile)
const nodeModules = join(root, 'node_modules')
const hook = pathToFileURL(join(root, 'test/e2e/support/typescript-5.mjs')).href

/** Inside the project, so that generated files find its packages. */
let folder: string
let file: string

beforeAll(async () => {
  mkdirSync(join(root, '.wrangler'), { recursive: true })
  folder = mkdtempSync(join(root, '.wrangler', 'clients-'))
  file = join(folder, 'openapi.json')
  const { text } = await owner.get('/openapi.json')
  writeFileSync(file, text)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a generator with the TypeScript that it needs. */
const generate = (script: string, ...args: string[]) =>
  run(process.execPath, [join(nodeModules, script), ...args], {
    cwd: folder,
    env: { ...process.env, ...compileCache, NODE_OPTIONS: `--import ${hook}` },
  })

/** Compiles the files in strict mode. An error lists what is wrong. */
async function compile(...files: string[]): Promise<string> {
  const options = {
    strict: true,
    noUncheckedIndexedAccess: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2023',
    lib: ['es2024', 'dom', 'dom.iterable'],
    noEmit: true,
    types: [],
    // The declarations of TypeScript itself.
    skipDefaultLibCheck: true,
    allowImportingTsExtensions: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const compiler = [join(nodeModules, 'typescript/lib/tsc.js'), '-p', folder]
  const compiled = await run(process.execPath, compiler, { env: { ...process.env, ...compileCache } }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  )
  return `${compiled.stdout}${compiled.stderr}`
}

it('the document is valid OpenAPI 3.1', async () => {
  const document = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  const { valid, errors } = await new Validator().validate(document)
  expect(errors ?? []).toEqual([])
  expect(valid).toBe(true)
})

itInTurn('openapi-typescript makes types that compile', async () => {
  await generate('openapi-typescript/bin/cli.js', file, '-o', join(folder, 'schema.ts'))
  writeFileSync(
    join(folder, 'use-schema.ts'),
    `import type { components, operations } from './schema.ts'
type Answers = operations['createChatCompletion']['responses']['200']['content']
export const model = (answer: Answers['application/json']): string => answer.model
export const chunk = (part: Answers['text/event-stream']): 'chat.completion.chunk' => part.object
export const text = (event: components['schemas']['SessionEvent']): string =>
  event.type === 'message.delta' ? event.delta : event.type === 'run.completed' ? event.usage.cost_status : event.run_id
`,
  )
  expect(await compile('use-schema.ts')).toBe('')
})

it('openapi-ts makes a client that compiles, calls and streams', async () => {
  await generate('@hey-api/openapi-ts/bin/run.js', '-i', file, '-o', join(folder, 'client'), '--silent')
  copyFileSync(join(root, 'test/e2e/support/use-generated-client.ts'), join(folder, 'use-client.ts'))
  expect(await compile('use-client.ts')).toBe('')
  const { build } = await import('esbuild')
  const outfile = join(folder, 'client.mjs')
  const entry = join(folder, 'use-client.ts')
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', logLevel: 'error' })
  const { useClient } = (await import(pathToFileURL(outfile).href)) as {
    useClient: (url: string, key: string) => Promise<Record<string, unknown>>
  }
  expect(await useClient(server.url, server.key)).toEqual({
    title: 'Made by a generated client',
    listed: true,
    finishReason: 'stop',
    events: ['run.started', 'run.completed'],
    refused: ['not_found', 404],
  })
})
