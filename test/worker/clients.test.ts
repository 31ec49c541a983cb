/** Requests as the clients of OpenAI's API send them that people have already. */

import { beforeAll, describe, expect, it } from 'vitest'
import { migrated, request } from './client.ts'

beforeAll(migrated)

describe('a base address', () => {
  it.each(['/v1/models', '/v1//models', '//v1/models', '/v1/v1/models', '/v1/models/', '/v1/models/talaria/'])(
    'that was typed in a hurry works: %s',
    async (path) => {
      const answer = await request('GET', path)
      expect([path, answer.status]).toEqual([path, 200])
      await answer.text()
    },
  )

  it('does not lead around the key', async () => {
    for (const path of ['//v1/models', '/v1/v1/models', '/v1/v1/nothing']) {
      const answer = await request('GET', path, { key: null })
      expect([path, answer.status]).toEqual([path, 401])
      await answer.text()
    }
  })

  it('is that of its own routes alone', async () => {
    for (const path of ['//api/sessions', '/api//sessions', '/v1/v1', '/v1models']) {
      const answer = await request('GET', path)
      expect([path, answer.status]).toEqual([path, 404])
      await answer.text()
    }
  })
})
