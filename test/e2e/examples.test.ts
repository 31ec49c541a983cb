/** Runs every example, and the recipes of docs/clients.md, as a user would: their own assertions decide. */

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { firstRows } from '../support/long.ts'
import { compileCache } from '../support/compile-cache.mjs'
import { server } from './support/here.ts'
import { root } from './support/server.ts'

const { url, key } = server
const folder = join(root, 'examples')
const examples = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'talaria.ts')

async function run(file: string): Promise<string> {
  const env = { ...process.env, ...compileCache, TALARIA_URL: url, TALARIA_API_KEY: key }
  return (await promisify(execFile)(process.execPath, [file], { env, timeout: 50_000 })).stdout
}

it.each(firstRows(1, examples, 2))('%s does what it says', async (name) => {
  expect(await run(join(folder, name))).not.toBe('')
})

/** The TypeScript of each section, and whether its packages are installed. */
const recipes = readFileSync(join(root, 'docs/clients.md'), 'utf8')
  .split(/^## /m)
  .flatMap((section) => {
    const [, code] = /^```ts\n([\s\S]*?)^```/m.exec(section) ?? []
    if (code === undefined) return []
    const packages = [...code.matchAll(/from '((?:@[\w-]+\/)?[\w-]+)'/g)].map(([, name = '']) => name)
    const isInstalled = packages.every((name) => existsSync(join(root, 'node_modules', name)))
    return [{ name: section.split('\n')[0] ?? '', code, isInstalled }]
  })

describe('the recipe for', () => {
  it.each(
    firstRows(
      1,
      recipes.filter(({ isInstalled }) => isInstalled),
      2,
    ),
  )('$name works', async ({ code }) => {
    // Inside the project, so that its packages are found.
    mkdirSync(join(root, '.wrangler'), { recursive: true })
    const place = mkdtempSync(join(root, '.wrangler', 'recipe-'))
    onTestFinished(() => rmSync(place, { recursive: true }))
    writeFileSync(join(place, 'recipe.mts'), code)
    expect(await run(join(place, 'recipe.mts'))).not.toBe('')
  })
})
