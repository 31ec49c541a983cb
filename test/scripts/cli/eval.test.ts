/** Tests cases of `talaria eval` without a server: which are refused, what every assertion accepts, and what reporters print. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { describe as describeAssertion, findFailure } from '../../../cli/eval/assertions.mjs'
import { loadCases } from '../../../cli/eval/load-cases.mjs'
import { reporters } from '../../../cli/eval/reports.mjs'

const folder = mkdtempSync(join(tmpdir(), 'talaria-cases-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const write = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const refusalOf = async (text: string, name = 'wrong.eval.yaml'): Promise<string> =>
  loadCases([write(name, text)]).then(
    () => 'accepted',
    (error: Error) => error.message,
  )
const withAssertion = (assertion: string) => `name: x\nmessages: [a]\nassert: [${assertion}]\n`

describe('cases', () => {
  it('come from YAML and TypeScript, alone, in a list, and with common fields', async () => {
    mkdirSync(join(folder, 'all/deep'), { recursive: true })
    write('all/one.eval.yaml', withAssertion('{ maxToolCalls: 0 }'))
    write('all/two.eval.yml', 'model: a/b\ncases:\n- { name: y, messages: [a], assert: [{ output: ok }] }\n')
    write(
      'all/deep/three.eval.ts',
      "const assert = [{ asked: false as boolean }]\nexport default [{ name: 'z', messages: ['a'], assert }]\n",
    )
    write('all/notes.yaml', 'no case')
    const found = (await loadCases([join(folder, 'all')])) as readonly { name: string; models?: readonly string[] }[]
    expect(found.map(({ name, models }) => [name, models])).toEqual([
      ['z', undefined],
      ['x', undefined],
      ['y', ['a/b']],
    ])
    await expect(loadCases([join(folder, 'all'), join(folder, 'all/one.eval.yaml')])).rejects.toThrow('Two cases')
    await expect(loadCases([join(folder, 'nowhere')])).rejects.toThrow('There is no ')
  })

  it.each([
    ['name: [', 'wrong.eval.yaml'],
    ['- 1', 'a case needs a name'],
    ['', 'a case needs a name'],
    ['[]', 'wrong.eval.yaml needs a list of cases'],
    ['cases: []', 'needs a list of cases'],
    ['cases: 5', 'needs a list of cases'],
    ['name: x\nmessages: [a]\nasserts: []\n', 'unknown field: asserts'],
    ['name: x\nassert: [{ output: a }]\n', '"x" needs messages to be a list of texts'],
    ['name: x\nmessages: [1]\nassert: [{ output: a }]\n', 'messages'],
    ['name: x\nmessages: [a]\nassert: []\n', 'needs assert'],
    ['name: x\nmessages: [a]\nrepeat: 0\nassert: [{ output: a }]\n', 'repeat to be a whole number from 1'],
    ['name: x\nmessages: [a]\nleast: 70\nassert: [{ output: a }]\n', 'least to be a number from 0 to 1'],
    ['name: x\nmessages: [a]\napprovals: session\nassert: [{ output: a }]\n', 'once or deny'],
    ['name: x\nmessages: [a]\ntools: [{ nam: y }]\nassert: [{ output: a }]\n', 'tools'],
    ['name: x\nmessages: [a]\nfiles: { ../../../settings: a }\nassert: [{ output: a }]\n', 'files to be texts'],
    ['name: x\nmessages: [a]\nsettings: &s { b: *s }\nassert: [{ output: a }]\n', '"x" cannot be written as JSON'],
  ])('are refused before anything runs: %j', async (text, message) => {
    expect(await refusalOf(text)).toContain(message)
  })

  it.each([
    ['{ called: b }', 'it needs one of calledTool'],
    ['{ output: a, file: b }', 'it needs one of calledTool'],
    ['{ soft: true }', 'has nothing'],
    ['{ output: a, soft: maybe }', 'soft needs'],
    ['{ calledTool: { nam: b } }', 'calledTool needs'],
    ['{ calledTool: { name: b, times: -1 } }', 'calledTool needs'],
    ['{ notCalledTool: [b] }', 'notCalledTool needs'],
    ['{ toolOrder: b }', 'toolOrder needs'],
    ['{ asked: approvals }', 'asked needs'],
    ['{ maxToolCalls: "3" }', 'maxToolCalls needs'],
    ['{ maxCost: cheap }', 'maxCost needs'],
    ['{ output: 250 }', 'a text in quotes'],
    ['{ output: { contain: a } }', 'output needs'],
    ['{ output: { matches: "(" } }', 'output needs'],
    ['{ file: { text: a } }', 'file needs'],
    ['{ file: { path: ../../keys } }', 'file needs'],
    ['{ output: { schema: { uniqueItems: true } } }', 'in its schema uniqueItems is not checked'],
    ['{ output: { schema: { items: { $ref: "#" } } } }', 'in its schema $ref is not checked'],
    ['{ output: { schema: { properties: { a: { pattern: "(" } } } } }', 'pattern must be a regular expression'],
    ['{ output: { schema: { required: a } } }', 'required must be a list'],
    ['{ file: { path: a, text: { schema: { anyOf: {} } } } }', 'anyOf must be a list'],
    ['{ output: { schema: { items: [{ type: string }] } } }', 'a schema must be an object'],
    ['{ judge: { rubric: a, least: 7 } }', 'judge needs'],
  ])('with a wrong assertion are refused: %s', async (assertion, message) => {
    expect(await refusalOf(withAssertion(assertion))).toContain(message)
  })

  it('in a module that cannot be read are refused', async () => {
    expect(await refusalOf('export default {', 'wrong.eval.mjs')).toContain('wrong.eval.mjs: ')
  })
})

const calls = [
  { name: 'read', input: { path: 'a', deep: { x: 1, y: 2 } } },
  { name: 'write', input: { path: 'b' } },
  { name: 'read', input: { path: 'c' } },
]
const seen = {
  calls,
  asked: ['approval'],
  cost: 0.02,
  output: '```json\n{"item":"chair","count":3}\n```',
  readFile: async (path: string) => (path === 'a.txt' ? 'one\n' : undefined),
  judge: async (rubric: string) => ({ score: rubric === 'good' ? 0.8 : 0.2, reason: 'so' }),
}
const schema = { type: 'object', properties: { count: { const: 3 } }, required: ['item'] }

/** Each assertion with a value that holds, one that does not, and the reason. */
const assertions: readonly (readonly [name: string, right: unknown, wrong: unknown, reason: string])[] = [
  ['calledTool', 'read', 'delete', 'not called; called were read, write, read'],
  ['calledTool', { name: 'read', input: { deep: { y: 2 } } }, { name: 'read', input: { path: 'z' } }, 'called with'],
  ['calledTool', { name: 'read', times: 2 }, { name: 'read', times: 1 }, '2 calls instead of 1'],
  ['calledTool', { name: 'delete', times: 0 }, { name: 'write', times: 0 }, '1 calls instead of 0'],
  ['notCalledTool', 'delete', 'write', 'it was called'],
  ['toolOrder', ['read', 'read'], ['write', 'write'], 'the order was'],
  ['asked', true, false, 'it asked: approval'],
  ['asked', 'approval', 'question', 'it asked: approval'],
  ['maxToolCalls', 3, 2, '3 calls'],
  ['maxCost', 0.02, 0.01, 'it cost $0.0200'],
  ['output', 'chair', 'table', 'it is "'],
  ['output', { equals: ` ${seen.output}\n` }, { equals: 'chair' }, 'it is "'],
  ['output', { matches: 'count":\\d' }, { matches: '^chair' }, 'it is "'],
  ['output', { schema }, { schema: { required: ['price'] } }, '$.price is missing'],
  [
    'output',
    { schema: { enum: [{ count: 3, item: 'chair' }] } },
    { schema: { additionalProperties: false } },
    'must not',
  ],
  ['output', { matches: '`' }, { matches: '^(?:[^]+)+$\\b' }, 'takes more than a second'],
  ['file', { path: 'a.txt', text: 'one' }, { path: 'a.txt', text: { equals: 'two' } }, 'it is "one'],
  ['file', { path: 'b.txt', absent: true }, { path: 'a.txt', absent: true }, 'a.txt is there'],
  ['file', { path: 'a.txt' }, { path: 'b.txt' }, 'b.txt is missing'],
  ['judge', { rubric: 'good' }, { rubric: 'bad' }, '0.2: so'],
  ['judge', { rubric: 'bad', least: 0.1 }, { rubric: 'good', least: 0.9 }, '0.8: so'],
]

it.each(assertions)('%s holds for %j and not for %j', async (name, right, wrong, reason) => {
  expect(await findFailure({ [name]: right, soft: true }, seen)).toBeUndefined()
  expect(await findFailure({ [name]: wrong }, seen)).toContain(reason)
  expect(describeAssertion({ soft: true, [name]: wrong })).toContain(name)
})

it('knows no names that objects have by themselves', async () => {
  const output = '{"constructor":1}'
  const schemaOf = (properties: object) => ({ output: { schema: { properties, additionalProperties: false } } })
  expect(await findFailure(schemaOf({}), { ...seen, output })).toBe('$.constructor must not be there')
  expect(await findFailure(schemaOf({ constructor: true }), { ...seen, output })).toBeUndefined()
})

describe('reporters', () => {
  const failures = [{ assertion: 'output "a|b"', reason: 'it is "\u001b[31m<c>"' }]
  const run = { failures: [], warnings: [], calls: ['read'], cost: 0.5, ms: 1_500, output: 'x', session: 'ses_1' }
  const results = [
    { name: 'stays', passed: true, rate: 1, runs: [run, run], before: { passed: true, rate: 1 } },
    {
      name: 'gets worse',
      model: 'a/b',
      passed: false,
      rate: 0,
      runs: [{ ...run, failures }],
      before: { passed: true },
    },
    { name: 'gets better', passed: true, rate: 1, runs: [{ ...run, warnings: failures }], before: { passed: false } },
    { name: 'is new', passed: true, rate: 1, runs: [run] },
  ]
  it.each([
    [
      'terminal',
      ['3 of 4 passed, 1 that passed before, $2.5000', '✗  gets worse · a/b', 'worse', 'better', 'new', 'ses_1'],
    ],
    ['markdown', ['**3 of 4 passed', '| ❌ | gets worse | a/b | 0 % |', 'output "a\\|b"']],
    [
      'junit',
      ['<testsuites tests="4" failures="1">', 'classname="a/b" name="gets worse"', '&lt;c&gt;', '<system-out>'],
    ],
    ['json', ['"name": "gets worse"']],
  ] as const)('%s', (name, parts) => {
    const text = (reporters as Readonly<Record<string, (all: unknown) => string>>)[name]?.(results) ?? ''
    for (const part of parts) expect(text).toContain(part)
    expect(text).not.toContain('\u001b')
  })

  it('junit is XML whatever the names and reasons are', () => {
    const hostile = [{ assertion: 'output "a\nb"', reason: '\ud800\ufffe]]><x>\u0000' }]
    const text = reporters.junit([{ name: '"\t\uffff', passed: false, rate: 0, runs: [{ ...run, failures: hostile }] }])
    expect(text).toContain('name="&quot;&#9;"')
    expect(text).toContain('<failure message="output &quot;a&#10;b&quot;: \ufffd]]&gt;&lt;x&gt;"/>')
  })
})
