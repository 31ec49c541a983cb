/** Tests that no name that a link or an answer brings makes the page ask another route than it means to. */

import { expect, it } from 'vitest'
import { fileOf, filePath, path } from '../../web/api/paths.ts'

const resolved = (address: string): string => new URL(address, 'https://talaria.test').pathname

it.each([
  filePath('ses_1', '../../../keys/key_1'),
  filePath('ses_1', 'a/../../../../settings'),
  filePath('..', '../../settings'),
  fileOf('/api/projects/p', '../../../sessions/ses_1'),
  path`/api/sessions/${'..'}/stop`,
  path`/api/skills/${'..'}`,
])('asks no other route: %s', (address) => {
  expect(resolved(address).split('/').length).toBe(address.split('/').length)
})

it('keeps all other names', () => {
  expect(filePath('ses_1', 'a..b/…/..c d')).toBe('/api/sessions/ses_1/files/a..b/%E2%80%A6/..c%20d')
})
