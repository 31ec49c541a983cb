/**
 * Runs an MCP server that is a program as a job of the session's host, and carries messages to it and back as if it had
 * an address. A program that is idle ends, and the next message starts it again.
 */

import type { Jobs } from '#agent/core/backend.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { parseMessages, type RpcMessage } from '#agent/mcp/protocol.ts'
import { quote } from '#backends/host/scripts.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch, GuardedRequest } from '#durable/platform/guarded-fetch.ts'
import { startDeadline } from '#durable/platform/timeout.ts'
import { McpFailure } from './mcp-client.ts'

export type StdioProgram = {
  readonly alias: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The session whose host runs it. */
  readonly sessionId: string
}

const idleSeconds = 900
const lifetimeMs = 24 * 3_600_000
const pageBytes = 1024 * 1024
/** Hosts keep 64 MB of the output of a job. */
const maxJobBytes = 48 * 1024 * 1024
const maxMessageBytes = 8 * 1024 * 1024
const maxStarts = 50
const maxSaidChars = 600
const firstPollMs = 20
const maxPollMs = 500
/** From this pause on, an empty page of output is a reason to look whether the program still runs. */
const suspiciousPollMs = 100
const defaultTimeoutMs = 60_000
/** Programs of before 2026-07-28 may leave the question for their revision without an answer. */
const probeTimeoutMs = 5_000

/** A started program: the id of its job, and how far its output was read. */
type Running = { readonly id: string; next: number }

const running = new BoundedMap<string, Running>(2_000)

/**
 * The job ends with the program, and the program with its input. Its last words go to the output, where they are no
 * messages, because the output of a job is one stream.
 */
export function renderProgramScript({ command, args }: Pick<StdioProgram, 'command' | 'args'>): string {
  const line = [command, ...args].map(quote).join(' ')
  const script = `d=$(mktemp -d) && mkfifo "$d/in" || exit 1
{ { ${line} <"$d/in" 2>&1 1>&3 | tail -c ${maxSaidChars}; } 3>&1; kill $$; } &
exec 4>"$d/in"
rm -r "$d"
trap '' PIPE
while IFS= read -r -t ${idleSeconds} line; do printf '%s\\n' "$line" >&4 2>/dev/null || break; done
exec 4>&-
sleep 2`
  return `exec bash --norc -c ${quote(script)}`
}

/** Sends the messages of the client to the program. */
export const createProgramFetch =
  (jobs: Jobs, program: StdioProgram): GuardedFetch =>
  async (request) => ({ response: await exchange(jobs, program, request), url: request.url })

async function exchange(jobs: Jobs, program: StdioProgram, request: GuardedRequest): Promise<Response> {
  const { method, body, headers } = request
  if (method !== 'POST' || typeof body !== 'string') return new Response(null, { status: 405 })
  const [message] = parseMessages(body)
  if (!message) return new Response(null, { status: 400 })
  const job = await findJob(jobs, program)
  const session = new Headers(headers).get('mcp-session-id')
  // The program that had said hello has ended: the client says it again.
  if (session !== null && session !== job.id) return new Response(null, { status: 404 })
  await send(jobs, job, body)
  if (message.id === undefined || message.method === undefined) return new Response(null, { status: 202 })
  const isProbe = message.method === 'server/discover'
  const stream = readReplies(jobs, job, message, isProbe ? { ...request, timeoutMs: probeTimeoutMs } : request)
  if (isProbe) return answerProbe(stream)
  return new Response(toEvents(stream), { headers: { 'content-type': 'text/event-stream', 'mcp-session-id': job.id } })
}

async function answerProbe(stream: AsyncGenerator<string>): Promise<Response> {
  let last = '{}'
  try {
    for await (const line of stream) last = line
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
  }
  return new Response(last, { headers: { 'content-type': 'application/json' } })
}

/** The first job of the program that has not ended: jobs are named by their number, so that another object finds them. */
async function findJob(jobs: Jobs, program: StdioProgram): Promise<Running> {
  const { alias, command, args, env, sessionId } = program
  const name = `mcp-${alias}-${hash53(JSON.stringify([command, args, env])).toString(36)}`
  const key = `${sessionId} ${name}`
  const known = running.get(key)
  const firstStart = known ? Number(known.id.slice(name.length + 1)) : 0
  for (let start = firstStart; start < firstStart + maxStarts; start++) {
    const id = `${name}-${start}`
    const state = await jobs.state(id)
    if (state.at === 'exited' || (state.at === 'lost' && state.reason === 'restarted')) continue
    if (known?.id === id && known.next > maxJobBytes) {
      await jobs.kill(id)
      continue
    }
    if (state.at === 'lost') await jobs.start(id, renderProgramScript(program), { env, timeoutMs: lifetimeMs })
    const found = known?.id === id ? known : { id, next: 0 }
    running.set(key, found)
    return found
  }
  throw new McpFailure('transport', `The program ${command} has ended too often.`)
}

async function send(jobs: Jobs, { id }: Running, body: string): Promise<void> {
  if (!jobs.write) throw new McpFailure('rpc', 'The programs of this host have no input.')
  await jobs.write(id, `${body}\n`, false)
}

/** The messages of the program, until the answer to the request. */
async function* readReplies(
  jobs: Jobs,
  job: Running,
  { id }: RpcMessage,
  { signal, timeoutMs = defaultTimeoutMs }: GuardedRequest,
): AsyncGenerator<string> {
  const deadline = startDeadline(timeoutMs, signal)
  try {
    yield* readUntilAnswer(new ProgramOutput(jobs, job), id, deadline.signal)
  } finally {
    deadline.end()
  }
}

async function* readUntilAnswer(
  output: ProgramOutput,
  id: RpcMessage['id'],
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (;;) {
    signal.throwIfAborted()
    for (const line of await output.read(signal)) {
      yield line
      if (isAnswer(line, id)) return
    }
  }
}

const isAnswer = (line: string, id: RpcMessage['id']): boolean =>
  parseMessages(line).some((message) => message.id === id && message.method === undefined)

/** Reads the output of a job from where it was read last. */
class ProgramOutput {
  readonly #jobs: Jobs
  readonly #job: Running
  #from: number
  /** The line that is not whole yet. */
  #rest = ''
  /** The last words that are no messages. */
  #said = ''
  #pauseMs = firstPollMs
  #hasEnded = false

  constructor(jobs: Jobs, job: Running) {
    this.#jobs = jobs
    this.#job = job
    this.#from = job.next
  }

  /** The messages that have arrived. Waits a while when there is nothing new, and throws when nothing can come. */
  async read(signal: AbortSignal): Promise<readonly string[]> {
    const { text, next } = await this.#jobs.output(this.#job.id, this.#from, pageBytes)
    this.#from = next
    this.#job.next = Math.max(this.#job.next, next)
    if (text) return this.#split(text)
    if (this.#hasEnded) throw new McpFailure('transport', `The program has ended: ${this.#said}${this.#rest}`.trim())
    // One more page is read after the end, because the last words may have come between both requests.
    if (this.#pauseMs > suspiciousPollMs) this.#hasEnded = (await this.#jobs.state(this.#job.id)).at !== 'running'
    if (!this.#hasEnded) await clock.wait(this.#pauseMs, { signal }).catch(() => undefined)
    this.#pauseMs = Math.min(this.#pauseMs * 1.5, maxPollMs)
    return []
  }

  #split(text: string): readonly string[] {
    this.#pauseMs = firstPollMs
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > maxMessageBytes) throw new McpFailure('transport', 'A message of the program is too large.')
    const isMessage = (line: string) => parseMessages(line).length > 0
    const others = lines.filter((line) => !isMessage(line))
    this.#said = [this.#said, ...others].join('\n').trimStart().slice(-maxSaidChars)
    return lines.filter(isMessage)
  }
}

function toEvents(lines: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await lines.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(`data: ${value}\n\n`))
    },
    async cancel() {
      await lines.return(undefined)
    },
  })
}
