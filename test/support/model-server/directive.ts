/**
 * Parses the directives `[[…]]` in the last user message, which determine the model's replies. They are stateless, so
 * that any number of sessions can run at once. README.md lists them.
 */

import type { Call, Reply } from './reply.ts'

/** A sequence of `times` replies. Each is created from its index. */
type Stretch = { readonly times: number; readonly reply: (n: number) => Reply }

export type Program = {
  readonly stretches: readonly Stretch[]
  /** The reply after the last sequence, and to requests without tools. */
  readonly final: Reply
  /** A failure that replaces the first `times` replies for a key. */
  readonly trouble: { readonly reply: Reply; readonly times: number; readonly key: string } | undefined
  /** Fields that are merged into every reply. */
  readonly pace: Pick<Reply, 'ttft' | 'gap' | 'usage' | 'reasoning'>
  readonly nonce: string | undefined
}

type Token = { readonly text: string; readonly end: number }
type Directive = { readonly verb: string; readonly words: readonly string[]; readonly rest: string }

const words = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `word${n} `)
const defaultText: Reply = { text: ['Hello', ' from', ' the', ' model', '.'] }

/** Returns the end of the JSON value that starts at `from`. Ignores braces and brackets inside strings. */
export const jsonEnd = (text: string, from: number): number => {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') at = stringEnd(text, at)
    else if (sign === '{' || sign === '[') depth++
    else if ((sign === '}' || sign === ']') && --depth === 0) return at + 1
  }
  return text.length
}

const stringEnd = (text: string, from: number): number => {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return text.length
}

const nextToken = (text: string, from: number): Token | undefined => {
  let at = from
  while (text[at] === ' ' || text[at] === '\n') at++
  if (at >= text.length || text.startsWith(']]', at)) return undefined
  if (text[at] === '{') {
    const end = jsonEnd(text, at)
    return { text: text.slice(at, end), end }
  }
  let end = at
  while (end < text.length && text[end] !== ' ' && text[end] !== '\n' && !text.startsWith(']]', end)) end++
  return { text: text.slice(at, end), end }
}

const directivesIn = (text: string): Directive[] => {
  const found: Directive[] = []
  for (let open = text.indexOf('[['); open >= 0; open = text.indexOf('[[', open)) {
    const tokens: string[] = []
    let at = open + 2
    for (let token = nextToken(text, at); token; token = nextToken(text, at)) {
      tokens.push(token.text)
      at = token.end
    }
    const [verb, ...rest] = tokens
    const close = text.indexOf(']]', at)
    if (verb && close >= 0) {
      found.push({ verb, words: rest, rest: text.slice(text.indexOf(verb, open) + verb.length, close).trim() })
    }
    open = close < 0 ? text.length : close + 2
  }
  return found
}

const option = (directive: Directive, name: string): string | undefined =>
  directive.words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
const amount = (directive: Directive, name: string): number | undefined => {
  const value = option(directive, name)
  return value === undefined ? undefined : Number(value)
}
const defined = <T extends object>(values: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T

/** Replaces `$i` in the arguments by the index of the call. */
const call = (name: string, json: string | undefined, n: number): Call => ({
  name,
  input: (json ?? '{}').replaceAll('$i', String(n)),
})

/** Parses tokens like `a {…} + b {…} then c {…} then text 5` into sequences and an optional final reply. */
const sequence = (tokens: readonly string[]): { readonly stretches: Stretch[]; readonly final?: Reply } => {
  const steps: string[][] = [[]]
  for (const token of tokens) {
    if (token === 'then') steps.push([])
    else steps.at(-1)?.push(token)
  }
  const stretches: Stretch[] = []
  for (const step of steps) {
    if (step[0] === 'text') return { stretches, final: { text: words(Number(step[1] ?? 5)) } }
    if (step[0] === 'say') return { stretches, final: { text: step.slice(1).join(' ') } }
    const calls: Call[] = []
    for (const token of step) {
      if (token === '+') continue
      const last = calls.at(-1)
      if (token.startsWith('{') && last) calls[calls.length - 1] = call(last.name, token, stretches.length)
      else calls.push(call(token, '{}', stretches.length))
    }
    stretches.push({ times: 1, reply: () => ({ calls }) })
  }
  return { stretches }
}

/** Reuses one reply object for equal arguments, so that its bytes are rendered once. */
const repeated = (times: number, name: string, json: string | undefined): Stretch => {
  const same: Reply = { calls: [call(name, json, 0)] }
  return { times, reply: json?.includes('$i') ? (n) => ({ calls: [call(name, json, n)] }) : () => same }
}

type Draft = { -readonly [K in keyof Program]: Program[K] } & { stretches: Stretch[] }
type Rule = (draft: Draft, directive: Directive, text: string) => void

const troubled =
  (reply: (directive: Directive) => Reply): Rule =>
  (draft, directive, text) => {
    draft.trouble = { reply: reply(directive), times: amount(directive, 'times') ?? 1, key: draft.nonce ?? text }
  }

const rules: Readonly<Record<string, Rule>> = {
  text: (draft, { words: [count] }) => (draft.final = { text: words(Number(count ?? 5)) }),
  say: (draft, { rest }) => (draft.final = { text: rest }),
  echo: (draft, _, text) =>
    (draft.final = { text: text.replaceAll(/\[\[.*?\]\]/gs, '').trim() || 'nothing to repeat' }),
  empty: (draft) => (draft.final = { text: [] }),
  length: (draft, { words: [count] }) => (draft.final = { text: words(Number(count ?? 5)), finish: 'length' }),
  refuse: (draft) => (draft.final = { text: [], finish: 'content_filter' }),
  tools: (draft, { words: [times, name, json] }) => draft.stretches.push(repeated(Number(times), name ?? '', json)),
  parallel: (draft, { words: [count, name, json] }) => {
    const calls = Array.from({ length: Number(count) }, (_, n) => call(name ?? '', json, n))
    draft.stretches.push({ times: 1, reply: () => ({ calls }) })
  },
  call: (draft, { words: tokens }) => {
    const { stretches, final } = sequence(tokens)
    draft.stretches.push(...stretches)
    if (final) draft.final = final
  },
  badargs: (draft, { words: [name] }) =>
    draft.stretches.push({ times: 1, reply: () => ({ calls: [{ name: name ?? '', input: '{"oops": 1, "cut' }] }) }),
  slow: (draft, directive) => {
    draft.pace = { ...draft.pace, ttft: amount(directive, 'ttft') ?? 0, gap: amount(directive, 'gap') ?? 20 }
    const chunks = amount(directive, 'chunks')
    if (chunks !== undefined) draft.final = { ...draft.final, text: words(chunks) }
  },
  reasoning: (draft, { words: [count] }) => (draft.pace = { ...draft.pace, reasoning: words(Number(count ?? 5)) }),
  usage: (draft, directive) => {
    const { prompt, completion, cached } = Object.fromEntries(
      ['prompt', 'completion', 'cached'].map((name) => [name, amount(directive, name)]),
    )
    draft.pace = { ...draft.pace, usage: defined({ prompt, completion, cached }) }
  },
  drop: troubled(({ words: [after] }) => ({ text: words(20), dropAfter: Number(after ?? 0) })),
  hang: troubled(() => ({ hang: true })),
  status: troubled((directive) => ({
    status: Number(directive.words[0] ?? 500),
    ...defined({
      retryAfter: amount(directive, 'retry-after'),
      code: option(directive, 'code'),
      message: option(directive, 'message')?.replaceAll('_', ' '),
    }),
  })),
}

export const compile = (text: string): Program => {
  const directives = directivesIn(text)
  const nonce = directives.map((directive) => option(directive, 'nonce')).find(Boolean)
  const draft: Draft = { stretches: [], final: defaultText, trouble: undefined, pace: {}, nonce }
  for (const directive of directives) rules[directive.verb]?.(draft, directive, text)
  return draft
}

/** Returns the reply for a step of a program. Requests without tools get the final reply. */
export const replyAt = (program: Program, step: number, tools: boolean): Reply => {
  let start = 0
  for (const stretch of tools ? program.stretches : []) {
    if (step < start + stretch.times) return paced(stretch.reply(step - start), program)
    start += stretch.times
  }
  return paced(program.final, program)
}

const paced = (reply: Reply, program: Program): Reply =>
  Object.keys(program.pace).length ? { ...reply, ...program.pace } : reply
