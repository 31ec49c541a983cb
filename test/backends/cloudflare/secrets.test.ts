/**
 * Tests that a granted secret is masked in the output of commands in containers, in each encoding in which a command may
 * print it by accident.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultLimits, type View } from '#agent/core/ports.ts'
import type { ExecOptions } from '#agent/core/backend.ts'
import { createRedactor, type Redactor } from '#agent/core/secrets/redaction.ts'
import type { ShellState } from '#agent/core/tool.ts'
import { newTurn } from '#agent/core/turn.ts'
import { planAll } from '#agent/policy/plan-calls.ts'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import { execWithSecrets } from '#durable/workspace/command-secrets.ts'
import { ownerAuthority } from '#test/support/authority.ts'
import { dispatch, type DispatchOptions } from '#tools/dispatch.ts'
import { tools } from '#tools/index.ts'
import { toolsFor } from '#tools/tools-for.ts'
import { memoryProcesses } from '../../tools/support/memory-processes.ts'
import { firstRows } from '../../support/long.ts'
import { type Api, openContainer } from './open-container.ts'

/** Longer than a line of base64, with characters that encoders treat differently. */
const secret = `Zq7!x/Y+2 w(V9)${'kLmNoPqRsT0123456789'.repeat(3)}~u*8(Q`
/** Pieces of this length in the output would show the secret. */
const pieceChars = 5

/** Each command prints the secret in `$KEY` in a form. What is left of the output is the text around it. */
const forms: Readonly<Record<string, readonly [command: string, shown: string]>> = {
  plain: ['echo "key: $KEY."', 'key: ***.'],
  'its variables': ['env | grep ^KEY=', 'KEY=***'],
  'base64, at the first position': ['printf %s "$KEY" | base64 -w0', '***'],
  'base64, at the second position': ['printf "a%s" "$KEY" | base64 -w0', 'Y***'],
  'base64, at the third position': ['printf "ab%s" "$KEY" | base64 -w0', 'YW***'],
  'base64, before other text': ['printf "abc%sdef" "$KEY" | base64 -w0 | sed s/ZGVm$//', 'YWJj***'],
  'base64, with a line end': ['echo "$KEY" | base64 -w0', '***'],
  'base64, in lines': ['echo "$KEY" | base64', '***'],
  base64url: [`printf %s "$KEY" | base64 -w0 | tr '+/' '-_' | tr -d =`, '***'],
  hex: ['printf %s "$KEY" | od -An -v -tx1 | tr -d " \\n"', '***'],
  'hex, in capitals': ['printf %s "$KEY" | od -An -v -tx1 | tr -d " \\n" | tr a-f A-F', '***'],
  'hex, in lines': ['printf %s "$KEY" | od -An -v -tx1 | tr -d " \\n" | fold -w 60', '***'],
  JSON: [`node -e 'console.log(JSON.stringify({ a: process.env.KEY }))'`, '{"a":"***"}'],
  'a URL': [
    `node -e 'console.log("https://h.example/?q=" + encodeURIComponent(process.env.KEY))'`,
    'https://h.example/?q=***',
  ],
  'a URL, by Python': [
    `node -e 'console.log(encodeURIComponent(process.env.KEY).replace(/[!()*\\x27]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase()).replaceAll("%2F", "/"))'`,
    '***',
  ],
  'a form': [`node -e 'console.log(new URLSearchParams({ q: process.env.KEY }).toString())'`, 'q=***'],
  'a URL, in small letters': [
    `node -e 'console.log(encodeURIComponent(process.env.KEY).replace(/%../g, (c) => c.toLowerCase()))'`,
    '***',
  ],
  pieces: ['for ((i = 0; i < ${#KEY}; i++)); do printf %s "${KEY:i:1}"; sleep 0.002; done', '***'],
  'both streams': ['printf %s "${KEY:0:20}"; printf %s "${KEY:20}"; printf "%s" "$KEY" >&2', '***'],
  'an error': ['cat "/nowhere/$KEY"', 'cat: '],
}

const { toolbox } = toolsFor({
  builtIn: tools,
  tenantTools: [],
  services: new Set(['backend', 'shell', 'processes']),
})

/** The services of a session whose commands get the secret. */
function openServices({ backend, engine }: ReturnType<typeof openContainer>, redactor: Redactor) {
  const secrets = { env: { KEY: secret }, isIn: (text: string) => redactor.redactExact(text) !== text }
  let state: ShellState = { cwd: engine.root, env: {} }
  const exec = (text: string, options: ExecOptions) => execWithSecrets(backend, text, options, secrets)
  const shell = { read: () => state, write: (next: ShellState) => void (state = next), policy: async () => shellPolicy }
  return { backend: { ...backend, exec }, processes: memoryProcesses(), shell }
}

async function runTool(opened: ReturnType<typeof openContainer>, command: string, isCut = false) {
  const redactor = createRedactor([secret])
  const services = openServices(opened, redactor)
  const part = { type: 'call', id: 'call', name: 'terminal', input: { command } } as const
  const [call] = planAll(newTurn('turn', 0, 10), [part], { toolbox, limits: defaultLimits } as View)
  const deltas: string[] = []
  const options: DispatchOptions = {
    toolbox,
    services,
    context: {
      sessionId: 's',
      runId: 'r',
      authority: ownerAuthority(),
      signal: AbortSignal.timeout(60_000),
      clock: Date,
    },
    schedule: (ms, act) => {
      const timer = setTimeout(act, ms)
      return () => clearTimeout(timer)
    },
    permit: () => ({ do: 'run' }),
    spill: () => Promise.reject(new Error('no result is that long')),
    logError: () => {},
    redactor: () => redactor,
    progress: { emit: ({ delta }) => void deltas.push(delta), openRedaction: () => redactor.stream() },
  }
  const run = async () => (await dispatch([call!], options).next()).value
  let result: unknown
  // Every second output is cut.
  if (isCut) await opened.sandbox.stream(async () => ((result = await run()), (result = await run())))
  else result = await run()
  const text = JSON.stringify(result)
  const { message } = result as { readonly message: { readonly content: readonly { readonly text: string }[] } }
  const { output = text } = JSON.parse(message.content[0]?.text ?? '{}') as { readonly output?: string }
  return { output, shown: [text, ...deltas].join('\n'), state: services.shell.read(), cuts: opened.sandbox.cuts }
}

/** The encodings of all pieces of the secret that would show it. */
function piecesOf(): readonly string[] {
  const whole = [0, 1, 2].flatMap((offset) => {
    const text = btoa('a'.repeat(offset) + secret)
      .slice(offset === 0 ? 0 : offset + 1)
      .replace(/=+$/, '')
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const hex = Buffer.from(secret).toString('hex')
  const all = [secret, hex, hex.toUpperCase(), ...whole]
  return all.flatMap((text) =>
    Array.from({ length: text.length - 2 * pieceChars + 1 }, (_, at) => text.slice(at, at + 2 * pieceChars)),
  )
}
const pieces = piecesOf()

describe.each(firstRows<Api>(1, ['sdk', 'native']))('a secret in the output of a command, with the API %s,', (api) => {
  let opened: ReturnType<typeof openContainer>
  beforeAll(() => void (opened = openContainer(api, undefined, { retryMs: 20 })))
  afterAll(() => opened.engine.drop())

  it.each(Object.entries(forms))('is masked as %s', async (_, [command, expected]) => {
    const { output, shown, state } = await runTool(opened, command)
    expect(output).toContain(expected)
    expect(output.length).toBeLessThan(160)
    expect(pieces.filter((piece) => shown.includes(piece))).toEqual([])
    expect(JSON.stringify(state)).not.toContain(secret.slice(0, 8))
  })

  it('that is cut on its way and fetched again is masked', async () => {
    const { output, cuts } = await runTool(opened, 'for i in {1..300}; do echo "$i $KEY"; done', true)
    expect(cuts > 0).toBe(api === 'sdk')
    expect(output.split('\n')).toEqual(Array.from({ length: 300 }, (_, at) => `${at + 1} ***`))
  })

  it('is not masked when a command reverses it, which the documentation says', async () => {
    const { output } = await runTool(opened, 'printf %s "$KEY" | rev')
    expect(output).toBe([...secret].toReversed().join(''))
  })
})
