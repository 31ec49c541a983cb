/** Tests programs in isolates: features, isolation, limits and their end. */

import { describe, expect, it } from 'vitest'
import type { Program, ProgramAnswer, ProgramEnd } from '#agent/core/program.ts'
import { openPrograms } from '#backends/isolate/programs.ts'
import { until } from '../../support/scripted-model.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'
import { firstRows, isLong, itInTurn } from '#test/support/long.ts'

const opened = { loader: bindings.LOADER, tenantId: 'test' }
const run = openPrograms(opened)
/** A fifth of the computing time of the product, which is real processor time of the tests. All of it in long runs. */
const runBriefly = openPrograms(isLong ? opened : { ...opened, limits: { maxBlockingMs: 500, maxTotalMs: 600 } })
const echo: Program['call'] = async (name, input) => ({ ok: { name, input } })
const running = (source: string, more: Partial<Program> = {}, start = run): Promise<ProgramEnd> =>
  start({
    source,
    tools: [
      {
        name: 'read_file',
        description: 'Read.',
        parameters: ['path', 'offset'],
        inputSchema: {
          type: 'object',
          properties: { offset: { type: ['integer', 'null'] }, path: { enum: ['a', 'b'] }, by: { type: 'object' } },
          required: ['path'],
        },
      },
      { name: 'terminal', description: 'Run.', parameters: ['command'], inputSchema: { type: 'object' } },
    ],
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    call: echo,
    ...more,
  })

it('shows the declaration of a tool as the text of its function', async () => {
  expect((await running('`${read_file}\n${tools.terminal}`')).output).toBe(
    `function read_file(input: { path: "a" | "b"; offset?: number | null; by?: object }): Promise<object>
function terminal(input: {  }): Promise<object>
`,
  )
})

describe('the object state of a program', () => {
  it('has what the last one has left, and is returned when it has changed', async () => {
    expect(await running('state.n = (state.n ?? 0) + 1; state.n', { state: '{"n":4}' })).toEqual({
      status: 'success',
      output: '5\n',
      state: '{"n":5}',
    })
    expect(await running('state = { b: [1] }; throw new Error("late")')).toMatchObject({
      status: 'error',
      state: '{"b":[1]}',
    })
    expect(await running('state.n', { state: '{"n":4}' })).toEqual({ status: 'success', output: '4\n' })
  })

  it.each([
    ['too large', 'state.a = "x".repeat(40_000)', /at most 32768 characters/],
    ['no object', 'state = 7', /must be an object/],
    ['circular', 'state.a = state', /circular/i],
    ['not readable', 'state.toJSON = () => { throw new Error("no") }', /not kept: .*no/],
    ['an endless loop', 'state.toJSON = () => { for (;;) {} }', /not kept/],
  ])('that is %s is not kept, and the output says so', async (_, source, said) => {
    const end = await running(`${source}\nundefined`)
    expect(end.state).toBeUndefined()
    expect(end.output).toMatch(said)
  })
})

describe('the output of a program', () => {
  it.each<[string, string, string]>([
    [
      'texts as they are, everything else as JSON',
      'console.log("a", 1, {b: [null]}, undefined)',
      'a 1 {"b":[null]} undefined\n',
    ],
    [
      'what JSON has no words for',
      'console.log([1n, new Map([[1, 2]]), new Set("a")])',
      '["1n",{"map":[[1,2]]},{"set":["a"]}]\n',
    ],
    ['itself inside itself', 'const a = {}; a.a = a; console.log(a)', '{"a":"[circular]"}\n'],
    ['one thing twice', 'const a = {x: 1}; console.log([a, a])', '[{"x":1},{"x":1}]\n'],
    ['the value of the last line', 'const x = 20\nx * 2 + 2', '42\n'],
    ['what comes before an exit', 'console.log("so far"); process.exit(); console.log("never")', 'so far\n'],
    ['what is returned', 'if (true) return "early"\nconsole.log("late")', 'early\n'],
    [
      'the value of an async function that nobody awaited',
      'async function main() { await null; return "done" }\nmain()',
      'done\n',
    ],
    [
      'what is printed after the last line',
      'setTimeout(() => console.log("later"), 5); console.log("now")',
      'now\nlater\n',
    ],
    [
      'what modules of node compute',
      'import { join } from "path"\nconsole.log(join("a", "b"), require("node:util").format("%d", 1))',
      'a/b 1\n',
    ],
  ])('%s', async (_, source, output) => {
    expect(await running(source)).toEqual({ status: 'success', output })
  })

  it('keeps head and tail when it is too long', async () => {
    const { status, output, omitted } = await running('for (let i = 0; i < 200000; i++) console.log("line", i)')
    expect(status).toBe('success')
    expect(output.length).toBeLessThan(1024 * 1024 + 100)
    const printed = Array.from({ length: 200_000 }, (_, i) => `line ${i}\n`).join('')
    const note = /\n\[\.\.\. \d+ bytes, \d+ lines left out \.\.\.\]\n/.exec(output)?.[0] ?? ''
    expect(omitted?.bytes).toBe(printed.length - (output.length - note.length))
    expect(omitted?.lines).toBe(200_000 - (output.replace(note, '').split('\n').length - 1))
    expect(output).toMatch(/^line 0\nline 1\n[\s\S]*lines left out[\s\S]*line 199999\n$/)
  })
})

describe('TypeScript', () => {
  it.each<[string, string, string]>([
    ['types', 'const f = (x: number): string => `${x}`\nconsole.log(f(1) as string)', '1\n'],
    ['enums', 'enum Level { Low = 1, High }\nconsole.log(Level.High, Level[1])', '2 Low\n'],
    ['parameter properties', 'class P { constructor(readonly x: number) {} }\nconsole.log(new P(3).x)', '3\n'],
    [
      'generics and interfaces',
      'interface A<T> { v: T }\nfunction id<T>(a: A<T>): T { return a.v }\nid({ v: 5 })',
      '5\n',
    ],
  ])('%s', async (_, source, output) => {
    expect(await running(source)).toEqual({ status: 'success', output })
  })

  it('reports the original line of an error', async () => {
    const source =
      'interface A {\n  x: number\n}\nconst a: A = { x: 1 }\nfunction f(b: A) {\n  throw new Error("no " + b.x)\n}\nf(a)'
    expect((await running(source)).error).toBe('Error: no 1\n    at f line 6\n    at line 8')
  })
})

describe('errors', () => {
  it.each<[string, string, RegExp]>([
    ['of syntax', 'const a = 1\nconst b = (1 +\nconsole.log(a', /^SyntaxError: .*\(line 3, column \d+\)$/],
    [
      'thrown',
      'const a = 1\nfunction f() {\n  throw new TypeError("bad")\n}\n\nf()',
      /^TypeError: bad\n {4}at f line 3\n {4}at line 6$/,
    ],
    ['thrown and no error', 'throw "words"', /^Uncaught words$/],
    ['in a timer', 'setTimeout(() => {\n  throw new Error("late")\n}, 1)', /^Error: late\n {4}at line 2$/],
    ['of an exit', 'console.log(1); process.exit(2)', /^The program exited with 2\.$/],
    ['nobody caught', 'Promise.reject(new Error("lost"))\nawait null', /^Error: lost/],
    ['of the runtime', 'undefined.x', /^TypeError: Cannot read/],
    ['of a module that is not there', 'import fs from "node:fs"', /no module 'node:fs'.*\(line 1\)/],
    ['of a module that is not there, asked for later', 'await import("cloudflare:workers")', /no module/],
    ['too long', 'throw new Error("x".repeat(50000))', /^Error: x{9000}[\s\S]*characters left out\]$/],
  ])('%s', async (_, source, error) => {
    const end = await running(source)
    expect(end).toMatchObject({ status: 'error', error: expect.stringMatching(error) })
    expect(end.error?.length).toBeLessThan(10_100)
  })

  it('keep earlier output', async () => {
    expect(await running('console.log("so far"); null.x')).toMatchObject({ status: 'error', output: 'so far\n' })
  })
})

describe('tools', () => {
  it('are global functions and members of `tools`, with an object or positional arguments', async () => {
    const source = `console.log(await read_file({ path: 'a' }), await tools.read_file('b', 3))`
    expect((await running(source)).output).toBe(
      '{"name":"read_file","input":{"path":"a"}} {"name":"read_file","input":{"path":"b","offset":3}}\n',
    )
  })

  it('are called so often at most that ten thousand at once hold nobody up', async () => {
    let made = 0
    const refuse: Program['call'] = async () => (made++, { error: 'no' })
    const source = `const all = await Promise.allSettled(Array.from({ length: 10_000 }, () => read_file('a')))
      all.at(-1).reason.message`
    const result = await running(source, { call: refuse })
    expect(result.output).toContain('at most 50 calls')
    expect(made).toBeLessThanOrEqual(200)
  })

  it('run concurrently', async () => {
    const begun: (() => void)[] = []
    // None is answered before the fourth has begun.
    const call = () =>
      new Promise<ProgramAnswer>((answer) => {
        begun.push(() => answer({ ok: {} }))
        if (begun.length === 4) for (const end of begun) end()
      })
    const source = `(await Promise.all([1, 2, 3, 4].map((n) => read_file({ path: String(n) })))).length`
    expect(await running(source, { call })).toEqual({ status: 'success', output: '4\n' })
  })

  it('throw an error with the result', async () => {
    const call = async () => ({ error: 'File not found', result: { similar: ['b'] } })
    const source = `try { await read_file('a') } catch (error) { console.log(error.message, error.result.similar[0]) }`
    expect((await running(source, { call })).output).toBe('read_file: File not found b\n')
    expect(await running(`\nawait read_file('a')`, { call })).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/^ToolError: read_file: File not found[\s\S]*line 2/),
    })
  })

  it('are awaited when the program did not', async () => {
    const asked: unknown[] = []
    const call: Program['call'] = async (_, input) => {
      await scheduler.wait(5)
      asked.push(input)
      return { ok: {} }
    }
    const source = `['a', 'b'].forEach(async (path) => { await read_file({ path }); await read_file({ path: path + 2 }) })`
    expect(await running(source, { call })).toMatchObject({ status: 'success' })
    expect(asked).toHaveLength(4)
  })
})

describe('isolation', () => {
  it.each<[string, string, RegExp]>([
    ['no network', 'await fetch("https://example.com")', /not permitted to access the internet/],
    [
      'no sockets',
      'new WebSocket("wss://example.com"); await new Promise((go) => setTimeout(go, 50)); throw new Error("none")',
      /not permitted|none/,
    ],
    ['no sockets of node', 'const { connect } = process.getBuiltinModule("net")', /no module 'net'/],
    ['no eval', 'eval("1")', /EvalError/],
    ['no functions from text', 'new Function("return 1")', /EvalError/],
    ['no functions from text by a way around', '(() => {}).constructor("return 1")()', /EvalError/],
  ])('%s', async (_, source, error) => {
    expect(await running(source)).toMatchObject({ status: 'error', error: expect.stringMatching(error) })
  })

  it('has no cache, no variables of the deployment and no bindings', async () => {
    const source = `import process from 'process'`
    expect((await running(source)).status).toBe('error')
    expect((await running('[typeof caches, typeof WebAssembly, Object.keys(process.env)]')).output).toBe(
      '["undefined","undefined",[]]\n',
    )
  })

  it('keeps no state between runs', async () => {
    await running('globalThis.left = 1; Array.prototype.left = 1; tools.left')
    expect((await running('[typeof left, [].left === undefined]')).output).toBe('["undefined",true]\n')
  })
})

/** Calls another session repeatedly while a program runs, and returns its longest wait. */
async function meanwhile<T>(work: () => Promise<T>): Promise<{ result: T; longest: number }> {
  const state = { isOver: false }
  let longest = 0
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const asking = inWorkspace({}, async ({ backend }) => {
    while (!state.isOver) {
      const start = performance.now()
      await backend.files.write('ping', new Uint8Array(1))
      begin()
      await scheduler.wait(5)
      longest = Math.max(longest, performance.now() - start)
    }
  })
  await begun
  const result = await work().finally(() => (state.isOver = true))
  await asking
  return { result, longest }
}

describe('an endless command or loop', () => {
  const programs: readonly (readonly [name: string, source: string])[] = [
    ['a loop', 'while (true) {}'],
    ['recursion that branches', 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2))\nfib(100)'],
    ['a loop that waits for nothing', 'while (true) await null'],
    ['a generator', 'function* g() { for (;;) yield 1 }\n;[...g()]'],
    ['one that catches its end', 'while (true) { try { while (true) {} } catch {} finally { for (;;); } }'],
    ['promises', 'const f = () => Promise.resolve().then(f)\nawait f()'],
    ['a loop without a body', 'for (;;);'],
    ['do', 'do { var x = 1 } while (true)'],
    ['a loop in a function', 'function f() { while (true) {} }\nf()'],
    ['a loop in a callback', '[1].map(() => { for (;;) {} })'],
    ['for of a generator', 'function* g() { yield 1; yield* g() }\nlet n = 0; for (const x of g()) n += x'],
    ['an async function that calls itself', 'async function f() { await null; return f() }\nawait f()'],
    ['microtasks', 'const f = () => queueMicrotask(f)\nf()\nawait new Promise((go) => setTimeout(go, 1))'],
    ['one with another clock', 'Date.now = () => 0; globalThis.setTimeout = () => {}; function f() { for (;;); }\nf()'],
    ['a getter', 'const o = { get x() { for (;;); } }\no.x'],
    ['a static block', 'class A { static { for (;;); } }'],
  ]
  it.each(firstRows(1, programs, 1))(
    '%s is ended, and others are answered meanwhile',
    { timeout: 60_000 },
    async (what, source) => {
      const { result, longest } = await meanwhile(() => running(source, {}, runBriefly))
      console.log(`${what}: longest wait of another session ${Math.round(longest)} ms`)
      expect(result).toMatchObject({
        status: 'error',
        error: expect.stringMatching(/^The code computed for|stack size/),
      })
      // Ten times what it takes where nothing else runs, a tenth of what an open loop would take.
      expect(longest).toBeLessThan(5_000)
    },
  )

  it.each([
    '/(a+)+$/.test("a".repeat(50) + "!")',
    'new RegExp("(a|a)*$").test("a".repeat(50) + "!")',
    '"a".match("(.*a+)*b")',
    '/((\\w+)\\s?)*$/.test("a".repeat(50) + "!")',
    'new RegExp("((a+))+b").test("a".repeat(50))',
    'new RegExp(/(a|A)*b/, "i").test("a".repeat(50))',
  ])('a regular expression that would not is refused: %s', async (source) => {
    expect((await running(source)).error).toMatch(/itself repeats, which can take forever/)
  })

  itInTurn.each([
    '/(\\d+,)+/.exec("1,2,")[0]',
    '/"(?:[^"\\\\]|\\\\.)*"/.exec("x \\"y\\"")[0].length',
    '"a1b2".replace(/([a-z])(\\d)/g, "$2$1")',
    '"1234567".replace(/\\B(?=(\\d{3})+(?!\\d))/g, ",")',
  ])('an ordinary one runs: %s', async (source) => {
    expect((await running(source)).status).toBe('success')
  })

  it('does not include a program that awaits long calls', async () => {
    const call = async (): Promise<ProgramAnswer> => {
      const end = performance.now() + 40
      while (performance.now() < end);
      return { error: 'none' }
    }
    const source = `for (let n = 0; n < ${isLong ? 50 : 20}; n++) await read_file("a").catch(() => n)\n"done"`
    expect(await running(source, { call }, runBriefly)).toEqual({ status: 'success', output: 'done\n' })
  })

  it('does not include long work that pauses', async () => {
    const source = 'let s = 0\nfor (let i = 0; i < 3e6; i++) s += i\ns'
    expect(await running(source)).toEqual({ status: 'success', output: '4499998500000\n' })
  })
})

describe('memory', () => {
  const programs: readonly (readonly [name: string, source: string])[] = [
    ['a long array', 'new Array(1e9).fill(1)'],
    ['a long text', '"x".repeat(5e8)'],
    ['arrays in an array', 'const a = []\nwhile (true) a.push(new Array(1000).fill(0))'],
    ['an array from a length', 'Array.from({ length: 1e9 })'],
    ['bytes', 'new Uint8Array(2e9)'],
    ['a text that doubles', 'let s = "x"\nwhile (true) s += s'],
    ['small objects', 'const a = []\nwhile (true) a.push({ a: [1] })'],
    ['an array that doubles', 'let a = [1]\nwhile (true) a = [...a, ...a]'],
  ]
  it.each(firstRows(1, programs, 1))('%s is refused', { timeout: 60_000 }, async (_, source) => {
    const { result } = await meanwhile(() => running(source))
    expect(result).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/Out of memory|Invalid string length/),
    })
  })
})

describe('time', () => {
  /** Resolves when another program has made ten such calls: the ended one would have made some meanwhile. */
  const otherCalls = async () => {
    const source = 'for (let n = 0; n < 10; n++) { await read_file("b"); await new Promise((go) => setTimeout(go, 5)) }'
    expect(await running(source)).toMatchObject({ status: 'success' })
  }

  it('ends a program that waits forever, with its output', async () => {
    const end = await running('console.log("begun")\nawait new Promise(() => {})', { timeoutMs: 200 })
    expect(end).toEqual({ status: 'timeout', output: 'begun\n', error: 'Stopped after 0.2 s.' })
  })

  it('makes no call after the timeout', async () => {
    let made = 0
    const call = async () => (made++, { ok: {} })
    const source = 'for (;;) { await read_file("a"); await new Promise((go) => setTimeout(go, 5)) }'
    expect(await running(source, { call, timeoutMs: 200 })).toMatchObject({ status: 'timeout' })
    const before = made
    await otherCalls()
    expect(before).toBeGreaterThan(0)
    expect(made).toBe(before)
  })

  it('a stop ends a program and its calls', async () => {
    const stop = new AbortController()
    let made = 0
    const call = async () => {
      if (++made === 3) stop.abort()
      return { ok: {} }
    }
    const source =
      'console.log("begun")\nfor (;;) { await read_file("a"); await new Promise((go) => setTimeout(go, 5)) }'
    const end = await running(source, { call, signal: stop.signal })
    expect(end).toEqual({ status: 'interrupted', output: 'begun\n', error: 'Stopped by the user.' })
    const before = made
    await otherCalls()
    expect(made).toBe(before)
  })

  it('waits when two programs run already', async () => {
    const gates: (() => void)[] = []
    const call = () => new Promise<ProgramAnswer>((go) => gates.push(() => go({ ok: {} })))
    const three = [1, 2, 3].map(() => running('await read_file("a")', { call }))
    await until(() => gates.length === 2)
    gates.splice(0).forEach((open) => open())
    await until(() => gates.length === 1)
    gates.forEach((open) => open())
    expect((await Promise.all(three)).map(({ status }) => status)).toEqual(['success', 'success', 'success'])
  })
})
