/** What a row of the storage does not hold: the turn ends all the same, and the session goes on. */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { calls, Gate, model, says } from '../support/scripted-model.ts'
import { call, migrated, newSession } from '../worker/client.ts'
import { linesOf, say } from '../worker/listen.ts'
import { inObject, kill } from './object.ts'

beforeAll(migrated)

/** From here on rows that hold these words are too large for the storage of the session, as the platform says it. */
const refuse = (id: string, words: string) =>
  inObject(id, (_object, { storage: { sql } }) => {
    for (const change of ['INSERT', 'UPDATE'])
      sql.exec(
        `CREATE TRIGGER full_${change} BEFORE ${change} ON step WHEN instr(NEW.entries, '${words}') > 0
          BEGIN SELECT RAISE(ABORT, 'string or blob too big'); END`,
      )
  })

/** A session with a turn behind it, whose storage has a limit now. */
async function limited(...replies: Parameters<typeof model>[0] & readonly unknown[]) {
  const scripted = model([says('Hello.'), ...(replies as never[])])
  const { id } = await newSession({ model: scripted.id })
  await say(id, 'hi')
  await refuse(id, 'vast')
  return id
}

const quietly = async (act: () => Promise<void>) => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  await act()
  logged.mockRestore()
}

describe('a step that cannot be written', () => {
  it('of a tool ends its turn with an answer, and the session goes on, here and in its next life', () =>
    quietly(async () => {
      const write = { name: 'write_file', input: { path: 'a.txt', content: 'alpha' } }
      const read = { name: 'read_file', input: { path: 'vast.txt' } }
      const id = await limited(calls(write), calls(read), says('Back.'), says('Still here.'))
      expect(await say(id, 'go')).toMatchObject({ status: 'failed', output: expect.stringContaining('not be stored') })
      expect((await linesOf(id)).slice(0, 4)).toEqual([
        'user: hi',
        'assistant: Hello.',
        'user: go',
        'assistant: → write_file',
      ])
      expect(await say(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
      await kill(id)
      expect(await say(id, 'and now?')).toMatchObject({ status: 'completed', output: 'Still here.' })
    }))

  it('because of what was said ends the run that was begun with it', () =>
    quietly(async () => {
      const id = await limited(says('Back.'))
      expect(await say(id, 'a vast question')).toMatchObject({ status: 'failed' })
      expect((await linesOf(id)).slice(2)).toEqual([
        'user: [What was said here was too large to be kept.]',
        expect.stringContaining('I could not finish this'),
      ])
      expect(await say(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
    }))

  it('because of the answer ends the turn, and what was asked is kept', () =>
    quietly(async () => {
      const id = await limited(says('A vast answer.'), says('Back.'))
      expect(await say(id, 'go')).toMatchObject({ status: 'failed', usage: { output: 10 } })
      expect((await linesOf(id)).slice(2)).toEqual(['user: go', expect.stringContaining('I could not finish this')])
      expect(await say(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
    }))

  it('because of words said meanwhile lets them go with the turn; it can be stopped and deleted', () =>
    quietly(async () => {
      const gate = new Gate()
      const id = await limited(says('One ', gate, 'two'), says('Back.'))
      const running = say(id, 'go')
      await gate.reached()
      const joined = say(id, 'the vast rest')
      expect((await Promise.all([running, joined])).map(({ status }) => status)).toEqual(['failed', 'failed'])
      expect((await call('POST', `/api/sessions/${id}/stop`)).status).toBe(202)
      expect(await say(id, 'again')).toMatchObject({ status: 'completed', output: 'Back.' })
      expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    }))
})
