/** Tests that docs/security.md shows the table of doors that doors.test.ts tries. */

import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { renderDoors } from '#test/support/doors.ts'

it('the page on security shows what each kind of key can do', async () => {
  expect(await readFile('docs/security.md', 'utf8')).toContain(renderDoors())
})
