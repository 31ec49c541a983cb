/** Tests the line that sums up what tools have done, and the output of terminals. */

import { describe, expect, it } from 'vitest'
import { kindOf, summarise, timeOf } from '../../web/model/activity.ts'
import { colourOutput, readTerminal } from '../../web/model/ansi.ts'
import type { ToolBlock } from '../../web/model/blocks.ts'

const call = (tool: string, input: unknown = {}, more: Partial<ToolBlock> = {}): ToolBlock => ({
  kind: 'tool',
  key: `${tool}${JSON.stringify(input)}`,
  runId: 'r',
  callId: 'c',
  tool,
  input,
  state: 'done',
  progress: '',
  ...more,
})

describe('the summary', () => {
  it.each<[string, readonly ToolBlock[], readonly string[]]>([
    ['a file', [call('write_file', { path: 'notes/a.txt' })], ['write 1 a.txt']],
    ['the same file twice', [call('patch', { path: 'a' }), call('patch', { path: 'a' })], ['change 1 a']],
    ['two files', [call('read_file', { path: 'a' }), call('read_file', { path: 'b' })], ['read 2 ']],
    [
      'kinds in their order',
      [call('terminal'), call('write_file', { path: 'a' }), call('terminal')],
      ['run 2 ', 'write 1 a'],
    ],
    ['other tools by their names', [call('mcp_x'), call('mcp_x'), call('mcp_y')], ['other 2 mcp_x', 'other 1 mcp_y']],
    ['servers and plugins after their tools', [call('mcp__my_wiki__find_page')], ['other 1 find_page (my_wiki)']],
    ['a call without input', [call('write_file', undefined)], ['write 1 ']],
  ])('has %s', (_name, calls, shown) =>
    expect(summarise(calls).map(({ kind, count, name }) => `${kind} ${count} ${name}`)).toEqual(shown),
  )

  it.each([
    ['browser_click', 'browse'],
    ['terminal', 'run'],
    ['make_document', 'document'],
    ['constructor', 'other'],
  ])('%s is of the kind %s', (tool, kind) => expect(kindOf(tool)).toBe(kind))

  const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1_000).toISOString()
  it.each<[string, readonly ToolBlock[], number | undefined]>([
    ['the time of one call', [call('a', {}, { ms: 40, startedAt: at(0) })], 40],
    [
      'from the first to the last',
      [call('a', {}, { ms: 500, startedAt: at(0) }), call('b', {}, { ms: 400, startedAt: at(2) })],
      2_400,
    ],
    ['the times of stored messages', [call('a', {}, { at: at(0), endedAt: at(3) })], 3_000],
    [
      'none while one runs',
      [call('a', {}, { ms: 1, startedAt: at(0) }), call('b', {}, { state: 'running' })],
      undefined,
    ],
    ['none without times', [call('a'), call('b')], undefined],
  ])('has %s', (_name, calls, time) => expect(timeOf(calls)).toBe(time))
})

describe('the output of a terminal', () => {
  const esc = '\u001B'
  it.each<[string, string, readonly string[]]>([
    ['text', 'a\nb', ['a\nb|']],
    ['a colour', `${esc}[31mred${esc}[0m x`, ['red|ansi-red', ' x|']],
    ['bold and colour', `${esc}[1;32mok${esc}[m.`, ['ok|ansi-green ansi-bold', '.|']],
    ['a bright colour', `${esc}[91mr`, ['r|ansi-red']],
    ['the default colour again', `${esc}[31m1${esc}[39m2`, ['1|ansi-red', '2|']],
    ['one of 256 colours', `${esc}[38;5;1mr${esc}[38;5;200mx`, ['r|ansi-red', 'x|']],
    ['true colours as plain text', `${esc}[38;2;1;2;3mt`, ['t|']],
    ['no movements', `${esc}[2J${esc}[Hx${esc}[K`, ['x|']],
    ['no title', `${esc}]0;title\u0007x`, ['x|']],
    ['the last state of a progress bar', '10%\r50%\r100%\n', ['100%\n|']],
    ['lines of Windows', 'a\r\nb', ['a\nb|']],
    ['no bell', 'a\u0007b\u0000', ['ab|']],
    ['a sequence that is cut', `a${esc}[3`, ['a[3|']],
    ['HTML as text', '<b>x</b>', ['<b>x</b>|']],
  ])('has %s', (_name, output, spans) =>
    expect(readTerminal(output).map(({ text, kind }) => `${text}|${kind}`)).toEqual(spans),
  )

  it.each<[string, string, string, readonly string[]]>([
    ['of what came while it ran', 'red x', `${esc}[31mred${esc}[0m x\n`, ['red|ansi-red', ' x\n|']],
    ['none where only a part came', 'red x\nmore', `${esc}[31mred${esc}[0m x\n`, ['red x\nmore|']],
    ['none where nothing came', 'x', '', ['x|']],
  ])('has the colours: %s', (_name, output, progress, spans) =>
    expect(colourOutput(output, progress).map(({ text, kind }) => `${text}|${kind}`)).toEqual(spans),
  )
})
