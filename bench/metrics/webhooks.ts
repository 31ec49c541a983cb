/**
 * P18: measures how fast signed webhooks of a platform are acknowledged, and that every acknowledged message is stored.
 * Every message is durable before its acknowledgement, and starts or joins a turn, which runs at the same time. The model
 * answers after some seconds, as models do. `hard` repeats the measurement with a model that answers at once, so that
 * whole turns and their answers to the platform compete with the acknowledgements. The floor is `GET /health` of the same
 * server, in the same rounds: that is what the development proxy and the client cost on this machine. A deployment has no
 * such proxy, so both are measured again at the port of the runtime itself. `PLATFORM` names another platform than Slack.
 */

import { request } from 'node:http'
import { join } from 'node:path'
import { choosePlatform } from '../chat-platforms.ts'
import { createAgent, json, type Target, timedGet, TurnFailed } from '../client.ts'
import { atLeast, atMost, type Metric, nonce, type Row, together } from '../metric.ts'
import { ready } from '../model.ts'
import { cpuOf, freePort, holderOf, listeningPorts, start } from '../process.ts'
import { type Contender, repository, type Stage } from '../stage.ts'
import { quantile } from '../stats.ts'

const platform = choosePlatform('slack')
const chats = 50
const goalPerSecond = 300
const secondsPerRound = 3
const pauseMs = 1_000
const maxIdleMs = 60_000
const modelMs = 3_000
/** After this time the turns of a burst have ended. */
const turnMs = modelMs + 1_000
/** The words that make the model server answer late. */
const lateAnswer = `[[slow ttft=${modelMs} chunks=1 gap=0]]`

type Kind = 'slow' | 'hard'
type Webhook = { readonly path: string; readonly body: string; readonly headers: Readonly<Record<string, string>> }

const agent = createAgent()
const wait = (ms: number) => new Promise((done) => setTimeout(done, ms))

let issued = 0

/** A signed message. The word makes it findable among the stored messages. */
const sign = (path: string, chat: number, text: string): Webhook => ({
  path,
  ...platform.sign(++issued, { chat, text }),
})

/** Returns the milliseconds until the acknowledgement. */
const deliver = ({ origin }: Target, { path, body, headers }: Webhook): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const sent = request(`${origin}${path}`, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(performance.now() - began)
          : reject(new TurnFailed(`webhook: ${response.statusCode}`)),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })

/** `direct`: the runtime behind the development proxy. */
type Connected = { readonly target: Target; readonly direct: Target; readonly path: string; readonly pid: number }

/** The process that stores the data is the runtime. The proxies before it, of which wrangler has one in a workerd too, are not. */
async function findRuntime({ target, running, persist }: Contender): Promise<Target> {
  const runtime = holderOf(running.pid, persist)
  for (const port of runtime === undefined ? [] : listeningPorts(runtime)) {
    const origin = `http://127.0.0.1:${port}`
    const answer = await fetch(`${origin}/health`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
    if (answer?.ok && (await answer.text()).includes('"status"')) return { ...target, origin }
  }
  throw new TurnFailed('The port of the runtime was not found.')
}

const connect = async (stage: Stage): Promise<Connected> => {
  const port = await freePort()
  const running = start([process.execPath, join(repository, 'bench/chat-server.ts'), String(port)], {
    cwd: repository,
    env: {},
  })
  await ready({ name: platform.name, origin: `http://127.0.0.1:${port}`, prefix: '' }, running, '/')
  const contender = await stage.connected({ [platform.variable]: `http://127.0.0.1:${port}` })
  const { target } = contender
  const made = await json<{ webhook_url: string }>(target, 'POST', '/api/channels', {
    platform: platform.name,
    secrets: platform.secrets,
    settings: { allow_users: ['*'], busy_mode: 'steer', max_queued: 200 },
  })
  const direct = await findRuntime(contender)
  return { target, direct, path: new URL(made.webhook_url).pathname, pid: contender.running.pid }
}

type Page = { readonly data: readonly { readonly content: unknown }[]; readonly next_cursor: string | null }

async function listStored(target: Target): Promise<string> {
  const sessions = await json<{ data: readonly { id: string }[] }>(target, 'GET', '/api/sessions?limit=200')
  let text = ''
  for (const { id } of sessions.data)
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page = await json(
        target,
        'GET',
        `/api/sessions/${id}/messages?limit=200${cursor && `&cursor=${cursor}`}`,
      )
      text += JSON.stringify(page.data)
      cursor = page.next_cursor
    }
  return text
}

/** Counts the words among the stored messages, once the turns have taken up what was queued. */
async function countStored(target: Target, words: readonly string[]): Promise<number> {
  let [found, foundAt] = [-1, performance.now()]
  while (found < words.length && performance.now() - foundAt < maxIdleMs) {
    const stored = new Set((await listStored(target)).match(/\bb\d+x\d+\b/g))
    const now = words.filter((word) => stored.has(word)).length
    if (now > found) foundAt = performance.now()
    found = now
    if (found < words.length) await wait(pauseMs)
  }
  return found
}

export const webhooks: Metric = {
  id: 'P18',
  what: 'acknowledgement of webhooks',
  run: async (stage, { rounds }) => {
    const connected = await connect(stage)
    const words: string[] = []
    const createFor =
      (kind: Kind): Create =>
      (n) => {
        const word = nonce()
        words.push(word)
        return sign(connected.path, chatNumber(kind, n), `Hello ${word}${kind === 'slow' ? ` ${lateAnswer}` : ''}`)
      }
    const slow = await measure(connected, { kind: 'slow', create: createFor('slow'), rounds })
    const hard = await measure(connected, { kind: 'hard', create: createFor('hard'), rounds })
    const lost = words.length - (await countStored(connected.target, words))
    return rowsOf({ slow, hard, sent: words.length, lost })
  },
}

/** The models of the two kinds answer in chats of their own. */
const chatNumber = (kind: Kind, n: number): number => (kind === 'slow' ? 1_000 : 2_000) + (n % chats)

type Create = (n: number) => Webhook
type Plan = { readonly kind: Kind; readonly create: Create; readonly rounds: number }

type Paced = { readonly rate: number; readonly p99: number; readonly cpu: number }
type Measured = {
  readonly times: readonly number[]
  readonly floor: readonly number[]
  readonly direct: readonly number[]
  readonly directFloor: readonly number[]
  readonly paced: readonly Paced[]
  readonly pacedFloor: readonly Paced[]
}

async function measure({ target, direct: runtime, pid }: Connected, { kind, create, rounds }: Plan): Promise<Measured> {
  const settle = () => wait(kind === 'slow' ? turnMs : pauseMs)
  const [times, floor, direct, directFloor]: [number[], number[], number[], number[]] = [[], [], [], []]
  const [paced, pacedFloor]: [Paced[], Paced[]] = [[], []]
  const checkHealth = () => timedGet(target, '/health')
  const burstAt = async (at: Target) => {
    const checks = await together(chats, () => timedGet(at, '/health'))
    const burst = Array.from({ length: chats }, (_, n) => create(n))
    const acknowledgements = await together(chats, (n) => deliver(at, burst[n]!))
    await settle()
    return { checks, acknowledgements }
  }
  for (let round = -2; round < rounds; round++) {
    const [proxied, straight] = [await burstAt(target), await burstAt(runtime)]
    if (round < 0) continue
    times.push(...proxied.acknowledgements)
    floor.push(...proxied.checks)
    direct.push(...straight.acknowledgements)
    directFloor.push(...straight.checks)
  }
  for (let round = 0; round < Math.max(3, rounds / 4); round++) {
    pacedFloor.push(await sendAtRate(pid, checkHealth))
    const prepared = Array.from({ length: goalPerSecond * secondsPerRound }, (_, n) => create(n))
    paced.push(await sendAtRate(pid, (n) => deliver(target, prepared[n]!)))
    await settle()
  }
  return { times, floor, direct, directFloor, paced, pacedFloor }
}

/** Sends at the times of the goal, however long the answers take, and returns the rate at which they were answered. */
async function sendAtRate(pid: number, send: (n: number) => Promise<number>): Promise<Paced> {
  const count = goalPerSecond * secondsPerRound
  const [began, cpuBefore] = [performance.now(), cpuOf(pid)]
  const answered: Promise<number>[] = []
  while (answered.length < count) {
    const due = Math.min(count, Math.ceil(((performance.now() - began) / 1_000) * goalPerSecond))
    while (answered.length < due) {
      const answer = send(answered.length)
      // A failure is thrown below, once all were sent.
      answer.catch(() => undefined)
      answered.push(answer)
    }
    await wait(2)
  }
  const times = await Promise.all(answered)
  const rate = count / ((performance.now() - began) / 1_000)
  return { rate, p99: quantile(times, 0.99), cpu: (cpuOf(pid) - cpuBefore) / count }
}

type Found = { readonly slow: Measured; readonly hard: Measured; readonly sent: number; readonly lost: number }

const ms = (value: number): string => `${value.toFixed(1)} ms`
const describeTimes = (times: readonly number[]): string =>
  `99th percentile ${ms(quantile(times, 0.99))}, median ${ms(quantile(times, 0.5))}`
const describePaced = (paced: readonly Paced[]): string =>
  `${paced.map(({ rate, p99 }) => `${rate.toFixed(0)} /s (${p99.toFixed(0)} ms)`).join(', ')}, CPU ${ms(
    quantile(
      paced.map(({ cpu }) => cpu),
      0.5,
    ),
  )} each`

const rowsOf = ({ slow, hard, sent, lost }: Found): readonly Row[] => [
  {
    metric: 'P18',
    what: 'acknowledgement of 50 signed webhooks at once, 99th percentile',
    unit: 'ms',
    goal: atMost(100),
    samples: [quantile(slow.direct, 0.99)],
    note: [
      `of the runtime, median ${ms(quantile(slow.direct, 0.5))}`,
      `50 health checks at once: ${describeTimes(slow.directFloor)}`,
      `with a model that answers at once: ${describeTimes(hard.direct)}`,
      `through the development proxy: ${describeTimes(slow.times)}, its health checks ${describeTimes(slow.floor)}`,
    ].join('; '),
  },
  {
    metric: 'P18',
    what: 'signed webhooks acknowledged per second, 300 sent per second',
    unit: '/s',
    // The last answer comes after the last second.
    goal: atLeast(goalPerSecond * 0.97),
    samples: slow.paced.map(({ rate }) => rate),
    note: [
      `with 99th percentiles: ${describePaced(slow.paced)}`,
      `300 health checks per second: ${describePaced(slow.pacedFloor)}`,
      `with a model that answers at once: ${describePaced(hard.paced)}`,
    ].join('; '),
  },
  {
    metric: 'P18',
    what: 'acknowledged messages that are not stored',
    unit: '',
    goal: atMost(0),
    samples: [lost],
    note: `${sent} messages`,
  },
]
