/** Tests walking a folder that changes meanwhile. */

import { afterEach, beforeEach, expect, it } from 'vitest'
import { filesBelow, type Home, newHome, walk } from './walk.mjs'

let at: Home
beforeEach(() => void (at = newHome()))
afterEach(() => at.remove())

it('a search does not follow a link that replaces a folder', () => {
  const found: string[] = []
  for (const { path, real } of filesBelow({ real: at.home, path: '/workspace' })) {
    found.push(`${path}: ${at.text(real)}`)
    if (path === '/workspace/a/first') at.replaceByLink('z')
  }
  expect(found).toEqual(['/workspace/a/first: of the workspace'])
})

it('a search stays in its folder when that is moved', () => {
  const found: string[] = []
  for (const { path, real } of filesBelow({ real: at.home, path: '/workspace' })) {
    found.push(`${path}: ${at.text(real)}`)
    if (path === '/workspace/z/deep/own') at.replaceByLink('z')
  }
  expect(found).toEqual([
    '/workspace/a/first: of the workspace',
    '/workspace/z/deep/own: of the workspace',
    '/workspace/z/own: of the workspace',
  ])
})

it('a tree listing does not follow such a link either', async () => {
  const found: string[] = []
  await walk(at.home, '/workspace', {
    async visit({ path }) {
      found.push(path)
      if (path === '/workspace/z') at.replaceByLink('z')
      return true
    },
    isShallow: () => false,
    onLocked: () => expect.unreachable(),
  })
  expect(found).toEqual(['/workspace/a', '/workspace/a/first', '/workspace/z'])
})

it('a search of a single file returns that file', () => {
  const [only] = filesBelow({ real: `${at.home}/a/first`, path: '/workspace/a/first' })
  expect(only).toMatchObject({ path: '/workspace/a/first', below: 'first' })
})
