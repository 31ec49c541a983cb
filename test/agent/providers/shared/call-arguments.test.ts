import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { argumentsOf } from '#agent/core/message.ts'
import { parseCallArguments, renderCallArguments, renderCallInput } from '#agent/providers/shared/call-arguments.ts'

describe('parseCallArguments', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['{"a":1}', { input: { a: 1 } }],
    ['', { input: {} }],
    [' \n', { input: {} }],
    ['null', { input: {} }],
    ['None', { input: {} }],
    [' {"a":1} ', { input: { a: 1 } }],
    ["{'a': 1}", { input: { a: 1 } }],
    ['{"a": 1,}', { input: { a: 1 } }],
    ['{a: "b"}', { input: { a: 'b' } }],
    ['{"a": "cut of', { input: {}, raw: '{"a": "cut of' }],
    ['{"a": [1, 2', { input: {}, raw: '{"a": [1, 2' }],
    ['[1, 2]', { input: {}, raw: '[1, 2]' }],
    ['"text"', { input: {}, raw: '"text"' }],
    ['5', { input: {}, raw: '5' }],
    ['run it', { input: {}, raw: 'run it' }],
    ['{"a": {"b": 1}', { input: {}, raw: '{"a": {"b": 1}' }],
    ['{"a": 1}}', { input: { a: 1 } }],
    [
      '{"a": True, "b": None, "c": False, "d": -1.5e3, "e": [1, 2,], "f": {}}',
      { input: { a: true, b: null, c: false, d: -1500, e: [1, 2], f: {} } },
    ],
    ['{"a": "two\nlines\tand \\" an \\u00e9 \\d"}\n', { input: { a: 'two\nlines\tand " an é \\d' } }],
    // No escapes of JSON: the backslash is meant.
    [String.raw`{"a":"grep \d+ C:\Users\u1"}`, { input: { a: String.raw`grep \d+ C:\Users\u1` } }],
    ['[{"a":1}]', { input: { a: 1 } }],
    ['[{"a":1},{"a":2}]', { input: {}, raw: '[{"a":1},{"a":2}]' }],
    ['""', { input: {} }],
    ['[]', { input: {} }],
    ['~~~json\n{"a":1}\n~~~', { input: { a: 1 } }],
    ['{"a": "said "yes" and left", "b": 1,}', { input: { a: 'said "yes" and left', b: 1 } }],
    ["{'it': 'isn't', \"b\": 'x'}", { input: { it: "isn't", b: 'x' } }],
    ['{“a”: “b”}', { input: { a: 'b' } }],
    ['{"a": 1 /* one */, // two\n "b": 2 "c": 3,}', { input: { a: 1, b: 2, c: 3 } }],
    ['{"a": ls -la, }', { input: { a: 'ls -la' } }],
    ['{"a": 1 /* }', { input: {}, raw: '{"a": 1 /* }' }],
    ['{"a" 1}', { input: {}, raw: '{"a" 1}' }],
    ['{"a": 1} {"a": 2}', { input: {}, raw: '{"a": 1} {"a": 2}' }],
    ['{"a":1}{"a":1}', { input: { a: 1 } }],
    ['{"a": "}{"}\n{"a":"}{"} {"a": "}{"}', { input: { a: '}{' } }],
    ['{}{"a":"\\"{"}', { input: { a: '"{' } }],
    ['{}{}', { input: {}, raw: '{}{}' }],
    ['{"a":1}{"a":1', { input: {}, raw: '{"a":1}{"a":1' }],
    ['{"a":1},{"a":1}', { input: {}, raw: '{"a":1},{"a":1}' }],
    ['{"a": }', { input: {}, raw: '{"a": }' }],
    ['{:1}', { input: {}, raw: '{:1}' }],
    [String.raw`"{\"a\":\"b\"}"`, { input: { a: 'b' } }],
    [String.raw`"\"{\\\"a\\\":1}\""`, { input: { a: 1 } }],
    ['```json\n{"a":1}\n```', { input: { a: 1 } }],
    ['```\n{"a":"```"}\n```', { input: { a: '```' } }],
    ['```json {"a":1}', { input: { a: 1 } }],
    ['{"a":1}\n```', { input: { a: 1 } }],
    ['{"a":1}</tool_call>', { input: { a: 1 } }],
    ['{"a":"</b>"}</arguments>\n</tool_call>', { input: { a: '</b>' } }],
    ['{"a":1}<|tool_call_end|>', { input: { a: 1 } }],
    ['{"a":1}<｜tool▁call▁end｜>', { input: { a: 1 } }],
    ['{"a":1}[/TOOL_CALLS]', { input: { a: 1 } }],
    ['<tool_call>{"a":1}</tool_call>', { input: { a: 1 } }],
    ['```json\n{"a":1}\n```\n</tool_call>', { input: { a: 1 } }],
    // Text inside of the arguments stays as it is.
    [String.raw`{"a":"\"{\\\"b\\\":1}\"</tool_call>"}`, { input: { a: String.raw`"{\"b\":1}"</tool_call>` } }],
    // Truncated text is not completed.
    ['```json\n{"a": "cut of\n```', { input: {}, raw: '```json\n{"a": "cut of\n```' }],
    ['{"a": "x {y}</tool_call>', { input: {}, raw: '{"a": "x {y}</tool_call>' }],
    [String.raw`"{\"a\":\"b`, { input: {}, raw: String.raw`"{\"a\":\"b` }],
    ['"[1]"', { input: {}, raw: '"[1]"' }],
    ['{"a":1} and more', { input: {}, raw: '{"a":1} and more' }],
    ['{"a": [1}', { input: {}, raw: '{"a": [1}' }],
  ]
  it.each(cases)('parses %j', (text, expected) => {
    const { json: _json, ...parsed } = parseCallArguments(text)
    expect(parsed).toEqual(expected)
  })

  it('treats `__proto__` as a plain property', () => {
    parseCallArguments('{"__proto__":{"polluted":1}}')
    const { input } = parseCallArguments("{'__proto__':{'polluted':1}}")
    expect(Object.keys(input as object)).toEqual(['__proto__'])
    expect(({} as { polluted?: number }).polluted).toBe(undefined)
  })

  const nestObjects = (times: number) => `${'{"a":'.repeat(times)}1${'}'.repeat(times)}`
  it.each([nestObjects(101), nestObjects(100_000), nestObjects(100_000).replace('1', "'1',")])(
    'rejects deep nesting, because serialising is recursive',
    (text) => {
      expect(parseCallArguments(text)).toEqual({ input: {}, raw: text })
    },
  )
  it('accepts nesting below the limit', () => {
    expect(parseCallArguments(nestObjects(90))).toEqual({ input: JSON.parse(nestObjects(90)) })
  })

  itInTurn.each([
    '"b\n',
    "'b",
    '"a\n',
    '"x", ',
    '[',
    "{'a':",
    '/*',
    '//\n',
    ' ',
    '\\',
    ',',
    '" :',
    'f(',
    '“',
    '"   ',
    '\\"',
    '}{',
    '}{"',
    '</a>',
    '}</a>',
    '][/A]',
  ])('parses a long repetition of %j in linear time', (piece) => {
    // A parser that backtracks needs hours for this.
    const text = `{'a':${piece.repeat(300_000 / piece.length)}}`
    expect(parseCallArguments(text)).toHaveProperty('input')
  })
})

const written = [
  '{"a":1}',
  '{ "a": 1 }',
  ' {"a":1}\n',
  '{"id":1234567890123456789,"x":5.0,"y":1e400,"z":9007199254740993,"w":-0.0,"v":1.10}',
  '{"b":1,"2":2,"1":3}',
  '{"a":1,"a":2}',
  String.raw`{"a":"\u00e9\/"}`,
  '{"__proto__":{"a":1}}',
]

it.each(written)('keeps %j as it is written', (text) => {
  const parsed = parseCallArguments(text)
  expect(argumentsOf(parsed)).toBe(text)
  expect(renderCallArguments(parsed)).toBe(text)
  expect('json' in parsed).toBe(JSON.stringify(parsed.input) !== text)
})

it('renders numbers as they are written, also where the arguments are an object', () => {
  const json = '{ "a": [1234567890123456789, 5.0, 1e400, {"b": 9007199254740993}], "c": "1e400", "d": 7 }'
  expect(JSON.stringify(renderCallInput(parseCallArguments(json)))).toBe(
    '{"a":[1234567890123456789,5.0,1e400,{"b":9007199254740993}],"c":"1e400","d":7}',
  )
  expect(renderCallInput(parseCallArguments('no JSON'))).toEqual({})
})

it('renders no lone surrogate, which providers refuse', () => {
  expect(renderCallArguments(parseCallArguments(String.raw`{ "a": "\ud83d" }`))).toBe('{"a":"\ufffd"}')
  expect(renderCallArguments(parseCallArguments(String.raw`{ "a": "\ud83d\ude00" }`))).toBe(
    String.raw`{ "a": "\ud83d\ude00" }`,
  )
  expect(renderCallArguments(parseCallArguments('{"a": 1'))).toBe('{}')
})
