import { expect, it } from 'vitest'
import { renderPlatformHint } from '#agent/prompt/guidance/platforms.ts'

it.each([
  ['telegram', /Telegram.*MEDIA:path/],
  ['sms', /plain text/],
  ['cron', /nobody can answer/],
  ['job', /nobody can answer/],
  ['subagent', /Another agent/],
  ['api', /Markdown/],
  ['import', /Markdown/],
])('a session of %s gets its hint', (source, hint) => {
  expect(renderPlatformHint(source)).toMatch(hint)
})

it.each(['', 'unheard-of', 'constructor', '__proto__'])('a session of %j gets none', (source) => {
  expect(renderPlatformHint(source)).toBeUndefined()
})
