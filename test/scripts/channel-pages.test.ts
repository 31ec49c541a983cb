/** Tests that the page of each platform says what was checked against its vendor, and what was not. */

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { listPlatforms, loadChannel } from '#channels/channels.ts'

it.each(listPlatforms())('%s has a page that says what was checked', async (name) => {
  expect(await loadChannel(name)).toMatchObject({ platform: name })
  const page = readFileSync(`docs/${name.replaceAll('_', '-')}.md`, 'utf8')
  expect(page).toMatch(/^Not verified live: /m)
  const [, rows = ''] = page.split('\n## What was checked\n\n| fact | source |\n|---|---|\n')
  expect(rows.split('\n\n')[0]?.match(/^\| \S.* \| \S.* \|$/gm)?.length).toBeGreaterThanOrEqual(1)
})
