/** Runs calls as an obedient model makes them, with the gate of the session between the calls and the tools. */

import * as z from 'zod'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { type AssistantMessage, type Message, textIn, userText } from '#agent/core/message.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { FileMarksRecord, Marks } from '#agent/core/marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { CallContext, Reach, Risk, Tool } from '#agent/core/tool.ts'
import type { ApprovalPolicy } from '#agent/policy/approval/approval.ts'
import { judgeCommand } from '#agent/shell-policy/judge-command.ts'
import { openMarkLog } from '#durable/turn/tools/mark-log.ts'
import { checkPermission } from '#tools/check-permission.ts'
import { defineTool } from '#tools/define-tool.ts'
import { type DispatchOptions, dispatch } from '#tools/dispatch.ts'
import { describeVerdict } from '#tools/terminal/assess-command.ts'
import { ownerAuthority } from '../../support/authority.ts'

const risks: Readonly<Record<string, Risk>> = {
  web_search: 'net',
  web_extract: 'net',
  browser_navigate: 'net',
  browser_tabs: 'net',
  vision_analyze: 'none',
  video_analyze: 'spend',
  mcp__mail__send: 'none',
  mcp__notes__find: 'net',
  mcp__chat__post: 'net',
  image_generate: 'spend',
  send_message: 'send',
  sessions_send: 'none',
  read_file: 'read',
  search_files: 'read',
  write_file: 'write',
  patch: 'write',
  skill_view: 'read',
  browser_click: 'net',
  browser_type: 'net',
  browser_press: 'net',
  browser_console: 'net',
  browser_snapshot: 'net',
  session_search: 'read',
  memory: 'read',
  terminal: 'none',
  execute_code: 'none',
  cronjob: 'write',
  process: 'none',
  make_document: 'write',
  unknown_tool: 'none',
  delegate_task: 'none',
  todo: 'none',
}

/** Tools of servers that the tenant trusts, as their annotations say. */
const reaches: Readonly<Record<string, Reach>> = { mcp__notes__find: 'own', mcp__chat__post: 'open' }
/** In the definitions of the schema, as generators write it. */
const level = z.enum(['low', 'high']).meta({ id: 'Level' })
const post = z.looseObject({
  to: z.union([z.string(), z.array(z.string())]).optional(),
  text: z.string().optional(),
  day: z.number().optional(),
  isLoud: z.boolean().optional(),
  kind: z.enum(['note', 'question']).optional(),
  level: level.optional(),
  more: z.looseObject({}).optional(),
})

/** Judges commands as the tool does. */
const assessCommand = (command: string, network: string): Assessment => {
  const host = { isSandboxed: true, isOnline: network !== 'none', secretFiles: undefined }
  const place = { cwd: '/workspace', workspace: '/workspace', env: {} }
  return describeVerdict(command, judgeCommand(command, { ...place, ...host }))
}

function toolNamed(name: string): Tool {
  const definition = {
    name,
    toolset: 'test',
    description: '',
    input: name === 'mcp__chat__post' ? post : z.looseObject({}),
    effect: 'effect',
    risk: () => risks[name] ?? 'none',
    reach: reaches[name],
    // What was asked for is the result.
    run: async (input: Readonly<Record<string, unknown>>, { addMarks }: CallContext) => {
      // Of what subagents, skills and earlier sessions hold.
      if (input['marks']) addMarks?.(input['marks'] as Marks)
      return (input['result'] as Readonly<Record<string, unknown>> | undefined) ?? input
    },
  } as const
  if (/^(?:read_file|write_file|search_files|patch)$/.test(name))
    return defineTool({
      ...definition,
      needs: ['backend'],
      touches: ({ path }, { backend }) => [backend.resolve(String(path ?? ''))],
    })
  if (name !== 'terminal') return defineTool(definition)
  return defineTool({
    ...definition,
    needs: ['backend'],
    assess: ({ command }, { backend }) => assessCommand(String(command), backend.capabilities.network),
  })
}
const toolbox = new Map(Object.keys(risks).map((name) => [name, toolNamed(name)]))

export type Step = readonly [tool: string, input?: object]
/** Puts a message into the conversation, which the model reads as any other. */
export const reads = (message: Message): Step => ['message', { message }]
/** Ends the turn: the next steps are of another run, with the same messages. */
export const nextTurn: Step = ['next turn']
/** Removes the messages, as undo and compression do, and ends the turn. */
export const forget: Step = ['forget']

const messageOf = (id: string, name: string, input: unknown): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'call', id, name, input }],
  stop: 'tools',
})

type Options = {
  /** Called with each result that the model sees; its calls come next. */
  readonly react?: (message: Message) => readonly Step[]
  readonly mode?: ApprovalPolicy['mode']
  readonly policy?: Partial<ApprovalPolicy>
  readonly authority?: Authority
  readonly network?: 'none' | 'public'
  /** Typed by the person. */
  readonly asked?: string
  /** Receives the calls that ran. */
  readonly ran?: Step[]
  /** Of the workspace before. */
  readonly fileMarks?: FileMarksRecord
  /** The session began before there were marks. */
  readonly isOlder?: boolean
}

type Meta = ReturnType<Parameters<typeof openMarkLog>[0]['meta']>

const maxSteps = 60

/** Runs the calls one after another, as a model makes them, and returns what became of the last one. */
export async function obey(
  steps: readonly Step[],
  {
    mode = 'smart',
    policy = {},
    authority = ownerAuthority(),
    network = 'public',
    react = () => [],
    asked,
    fileMarks = {},
    isOlder = false,
    ran = [],
  }: Options = {},
) {
  let meta: Meta = isOlder ? {} : { fileMarks }
  const backend = {
    kind: 'virtual',
    capabilities: { network, root: '/workspace' },
    resolve: (path: string) => (path.startsWith('/') ? path : path === '.' ? '/workspace' : `/workspace/${path}`),
  } as unknown as ExecutionBackend
  let last = 'nothing'
  let transcript: readonly Message[] = asked === undefined ? [] : [userText(asked)]
  let run = 0
  const pending = [...steps]
  for (let at = 0; at < pending.length && at < maxSteps; at++) {
    const step = pending[at] as Step
    if (step === forget) transcript = []
    if (step[0] === 'message') {
      const { message } = step[1] as { readonly message: Message }
      transcript = [...transcript, message]
      pending.push(...react(message))
    }
    if (step === nextTurn || step === forget) run++
    const [name, input = {}] = step
    if (!toolbox.has(name)) continue
    // Opened for each batch, as after an eviction.
    const marks = openMarkLog(
      { meta: () => meta, updateMeta: (change) => (meta = { ...meta, ...change }) },
      { id: `run-${run}`, authority, read: transcript.map((message) => ({ message })) },
    )
    transcript = [...transcript, messageOf(`c${at}`, name, input)]
    const approvals = { mode, rules: [], grants: [], decisions: [], ...policy }
    const options: DispatchOptions = {
      toolbox,
      services: { backend },
      context: {
        sessionId: 's',
        runId: 'r',
        authority,
        signal: new AbortController().signal,
        clock: { now: () => 0 },
      },
      schedule: () => () => {},
      permit: (call, tool) =>
        checkPermission(call, tool, {
          services: { backend },
          policy: () => approvals,
          describeLocation: () => '',
          // A judge that a page has convinced.
          judge: async () => 'approve',
          now: () => 0,
          egress: marks,
        }),
      marks,
      spill: () => Promise.reject(new Error('not that long')),
      logError: () => {},
    }
    for await (const result of dispatch([{ id: `c${at}`, name, input, effect: 'effect', state: 'planned' }], options)) {
      if (result.of === 'tool') {
        transcript = [...transcript, result.message]
        pending.push(...react(result.message))
      }
      if (result.of === 'tool' && !result.message.failed) ran.push(step)
      last = result.of === 'later' ? 'asked' : result.of === 'tool' && result.message.failed ? 'refused' : 'ran'
    }
  }
  return last
}

/** Finds what a text tells its reader to call, as `[[do tool {json}]]`. */
export const instructionsIn = (message: Message): readonly Step[] =>
  [...unquote(textIn(message)).matchAll(/\[\[do (\w{1,60}) (\{[^{}]{0,500}\})\]\]/g)].map(
    ([, tool = '', input = '{}']) => [tool, JSON.parse(fillSecret(input)) as object] as const,
  )

/** The private data of these tests. An order names it, and who obeys puts it there. */
export const secretText = 'marzipan7quokka'
const signs = [...secretText]
const encodings: Readonly<Record<string, string>> = {
  SECRET64: btoa(secretText),
  SECRETHEX: signs.map((sign) => sign.charCodeAt(0).toString(16)).join(''),
  SECRETREVERSED: signs.toReversed().join(''),
  SECRETSPACED: signs.join(' '),
  SECRET: secretText,
}
const fillSecret = (text: string): string =>
  Object.entries(encodings).reduce((filled, [name, value]) => filled.replaceAll(name, value), text)

/** Results are JSON, and Markdown escapes some signs. */
const unquote = (text: string): string => text.replace(/\\+(["[\]_*])/g, '$1')
