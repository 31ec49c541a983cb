/** Tests the preview of calls while the model writes them: when it is shown, and how much of it. */

import { afterEach, beforeAll, expect, it } from 'vitest'
import type { Event } from '#agent/core/event.ts'
import { clock, replaceClock } from '#durable/platform/clock.ts'
import { ArgumentsPreview } from '#durable/turn/arguments-preview.ts'
import { calls, model, says } from '#test/support/scripted-model.ts'
import { applyMigrations, newSession } from '#test/worker/client.ts'
import { send, subscribe } from '#test/worker/listen.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

it('shows a long call at intervals, and nothing of a short one', () => {
  let now = 1_000
  replaceClock({ ...clock, now: () => now })
  const shown: Extract<Event, { type: 'tool.generating' }>[] = []
  const preview = new ArgumentsPreview((event) => shown.push(event))
  preview.append('read_file', '{"path":"a"}')
  preview.append('write_file', 'x'.repeat(399))
  expect(shown).toEqual([])
  preview.append('write_file', 'y')
  preview.append('write_file', 'z')
  expect(shown).toMatchObject([{ tool: 'write_file', chars: 400 }])
  now += 250
  preview.append('write_file', 'u'.repeat(5_000))
  expect(shown[1]).toMatchObject({ chars: 5_401, delta: 'u'.repeat(2_000) })
  preview.reset()
  preview.append('write_file', 'a')
  expect(shown).toHaveLength(2)
})

it('reaches subscribers before the call starts, and is not stored', async () => {
  const input = { path: 'long.txt', content: 'words '.repeat(500) }
  const { id: scripted } = model([calls({ name: 'write_file', input }), says('Done.')])
  const { id } = await newSession({ model: scripted })
  const events = await subscribe(id)
  await send(id, 'write')
  await events.waitFor('run.completed')
  const types = events.events.map(({ type }) => type)
  expect(types.indexOf('tool.generating')).toBeGreaterThan(0)
  expect(types.indexOf('tool.generating')).toBeLessThan(types.indexOf('tool.started'))
  const found = events.events.find(({ type }) => type === 'tool.generating')
  expect(found).toMatchObject({ tool: 'write_file' })
  expect(String(found?.['delta'])).toContain('words')
  events.close()
  const again = await subscribe(id, 0)
  await again.waitFor('run.completed')
  expect(again.events.some(({ type }) => type === 'tool.generating')).toBe(false)
  again.close()
})
