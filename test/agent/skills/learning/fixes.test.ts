/** Tests which failed calls count as fixed, and which failures are the same. */

import { describe, expect, it } from 'vitest'
import { type Message, userText } from '#agent/core/message.ts'
import { findFixes, getFailureSignature, listTurnMessages } from '#agent/skills/learning/fixes.ts'

let ids = 0
/** A call of the terminal with its result. */
function ran(command: string, result: object, failed = false): readonly Message[] {
  const id = `c${++ids}`
  return [
    { role: 'assistant', content: [{ type: 'call', id, name: 'terminal', input: { command } }], stop: 'tools' },
    { role: 'tool', callId: id, name: 'terminal', content: [{ type: 'text', text: JSON.stringify(result) }], failed },
  ]
}
const missing = { exit_code: 1, output: "Traceback:\n  line 3\nModuleNotFoundError: No module named 'pandas'\n" }
const ok = { exit_code: 0, output: 'done' }

describe('a fix', () => {
  it('is what was called between a failure and the same call that works', () => {
    const fixes = findFixes([
      ...ran('python report.py', missing),
      ...ran('pip install pandas', ok),
      ...ran('python report.py', ok),
    ])
    expect(fixes).toMatchObject([
      {
        tool: 'terminal',
        error: "ModuleNotFoundError: No module named 'pandas'",
        failed: 'terminal {"command":"python report.py"}',
        fix: 'terminal {"command":"pip install pandas"}\nterminal {"command":"python report.py"}',
      },
    ])
  })

  it('is a changed call, and leaves out other failures on the way', () => {
    const [fix] = findFixes([
      ...ran('git push origin main', { exit_code: 1, output: 'rejected' }),
      ...ran('git push origin man', { exit_code: 1, output: 'no such branch' }),
      ...ran('git push origin main --force-with-lease', ok),
    ])
    expect(fix?.fix).toBe('terminal {"command":"git push origin main --force-with-lease"}')
  })

  it.each<[string, readonly Message[]]>([
    ['the same call tried again', [...ran('curl x', { exit_code: 7, output: 'refused' }), ...ran('curl x', ok)]],
    ['another program that works', [...ran('python a.py', missing), ...ran('ls', ok)]],
    ['a failure that stays', [...ran('python a.py', missing), ...ran('pip install x', ok)]],
    [
      'a call that a person denied',
      [...ran('rm a', { status: 'denied', error: 'no', exit_code: -1 }, true), ...ran('rm a -i', ok)],
    ],
    [
      'a success much later',
      [
        ...ran('python a.py', missing),
        ...Array.from({ length: 6 }, (_, i) => ran(`ls ${i}`, ok)).flat(),
        ...ran('python a.py', ok),
      ],
    ],
  ])('is not %s', (_name, messages) => {
    expect(findFixes(messages)).toEqual([])
  })
})

describe('a failure', () => {
  const signature = (command: string, output: string) => {
    const [asked, result] = ran(command, { exit_code: 1, output })
    const call = asked?.role === 'assistant' && asked.content[0]
    return call && call.type === 'call' && result?.role === 'tool' ? getFailureSignature(call, result) : undefined
  }

  it('is the same when only numbers, paths and names differ', () => {
    const one = signature('X=1 python /a/b.py', "File '/a/b.py', line 12: cannot open 'x.csv'")
    expect(one).toBe(signature('python c.py', "File '/other/c.py', line 7: cannot open 'y.csv'"))
    expect(one).not.toBe(signature('node c.js', "File '/other/c.py', line 7: cannot open 'y.csv'"))
    expect(one).not.toBe(signature('python c.py', 'Permission denied'))
  })

  it('needs an error', () => {
    expect(signature('true', '')).toBeDefined()
    const [asked, result] = ran('true', ok)
    const call = asked?.role === 'assistant' ? asked.content[0] : undefined
    if (call?.type !== 'call' || result?.role !== 'tool') throw new Error('no call')
    expect(getFailureSignature(call, result)).toBe(undefined)
  })
})

it('a turn begins with the last message that a person wrote', () => {
  const [first, second] = [userText('one'), userText('two')]
  const messages = [first, ...ran('ls', ok), second, ...ran('ls', ok), userText('exit 0', 'process')]
  expect(listTurnMessages(messages)[0]).toBe(second)
  expect(listTurnMessages([])).toEqual([])
})
