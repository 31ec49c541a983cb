/** Runs every example as a user would: its own assertions decide. */

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { server } from './support/here.ts'

const { url, key } = server
const folder = new URL('../../examples/', import.meta.url)
const examples = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'talaria.ts')

it.each(examples)('%s does what it says', async (name) => {
  const env = { ...process.env, TALARIA_URL: url, TALARIA_API_KEY: key }
  const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL(name, folder))], { env })
  expect(stdout).not.toBe('')
})
