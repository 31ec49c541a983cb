/** Checks that docs/commands-in-chat.md documents every command of the table. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type CommandSpec, commandTable } from '#agent/policy/slash-command/command-table.ts'

const table: readonly CommandSpec[] = commandTable

describe('docs/commands-in-chat.md', () => {
  let page = ''
  beforeAll(async () => {
    page = await readFile(join(import.meta.dirname, '../../docs/commands-in-chat.md'), 'utf8')
  })

  it.each(table)('documents /$name with its aliases', ({ name, aliases = [] }) => {
    for (const one of [name, ...aliases]) expect(page).toMatch(new RegExp(`\`/${one}[ \`]`))
  })
})
