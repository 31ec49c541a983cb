/**
 * Tests the streams of a session: which events a subscriber gets, when a slow one is dropped, and when streams are
 * closed.
 */

import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '#agent/core/event.ts'
import { noUsage } from '#agent/core/usage.ts'
import { renderServerSentEvent } from '#agent/public-api/server-sent-events.ts'
import { maxSubscribers, Streams } from '#durable/events/streams.ts'
import { streamEvents } from '#worker/event-bridge.ts'
import type { EventPage } from '#durable/session/views/read-session.ts'
import { until } from '../../support/scripted-model.ts'

let seq = 0
const place = (run_id: string) => ({ seq: ++seq, at: '2026-11-21T12:00:00.000Z', run_id, session_id: 's' })
const delta = (text: string, run = 'r1'): SessionEvent => ({ type: 'message.delta', delta: text, ...place(run) })
const end = (run = 'r1'): SessionEvent => ({
  type: 'run.completed',
  output: '',
  usage: noUsage,
  exit_reason: 'answered',
  completed: true,
  ...place(run),
})

const streams = (sockets: readonly WebSocket[] = []) => new Streams(() => sockets)
/** The deltas and ends in a stream, until it closes. */
async function read(stream: ReadableStream<Uint8Array> | null): Promise<string[]> {
  const text = await new Response(stream).text()
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => {
    const event = JSON.parse(json ?? '') as { type: string; delta?: string }
    return event.delta ?? event.type
  })
}
const started = (name: string): SessionEvent => ({
  type: 'tool.started',
  call_id: name,
  tool: name,
  input: {},
  step: 1,
  ...place('r1'),
})

/** Reads the pieces of a stream as they were written. */
async function readPieces(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const pieces: string[] = []
  for await (const bytes of stream) pieces.push(new TextDecoder().decode(bytes))
  return pieces
}

const megabyte = 'x'.repeat(2 ** 20)

describe('a listener', () => {
  it('makes room for another where too many listen', async () => {
    const all = streams()
    const readers = Array.from({ length: maxSubscribers + 1 }, () =>
      read(all.open(renderServerSentEvent, [], { runId: 'r1' })),
    )
    all.publish([end()])
    const ends = await Promise.allSettled(readers)
    expect(ends.map(({ status }) => status).filter((status) => status === 'rejected')).toHaveLength(1)
    expect(ends[0]?.status).toBe('rejected')
  })

  it('gets past events, then new ones, and is closed at the end of its run', async () => {
    const all = streams()
    const reading = read(all.open(renderServerSentEvent, [delta('a')], { runId: 'r1' }))
    all.publish([delta('b'), delta('of another', 'r2'), end('r2')])
    all.publish([delta('c'), end()])
    all.publish([delta('too late')])
    expect(await reading).toEqual(['a', 'b', 'c', 'run.completed'])
  })

  it('of a run that is over gets its end at once', async () => {
    expect(await read(streams().open(renderServerSentEvent, [delta('a'), end()], { runId: 'r1' }))).toEqual([
      'a',
      'run.completed',
    ])
  })

  it('of a long run that is over gets all of it, however much that is', async () => {
    const past = Array.from({ length: 6 }, () => delta(megabyte))
    expect((await read(streams().open(renderServerSentEvent, [...past, end()], { runId: 'r1' }))).length).toBe(7)
  })

  it('of a long open run gets all past and new events', async () => {
    const all = streams()
    const stream = all.open(
      renderServerSentEvent,
      Array.from({ length: 6 }, () => delta(megabyte)),
      { runId: 'r1' },
    )
    all.publish([delta('b')])
    const reading = read(stream)
    all.publish([delta('c'), end()])
    expect((await reading).slice(6)).toEqual(['b', 'c', 'run.completed'])
  })

  it('that has read the past events is dropped when it does not read new ones', async () => {
    const all = streams()
    const stream = all.open(
      renderServerSentEvent,
      Array.from({ length: 6 }, () => delta(megabyte)),
      { runId: 'r1' },
    )
    const reader = stream.getReader()
    let bytes = 0
    while (bytes < 6 * 2 ** 20) bytes += (await reader.read()).value?.length ?? 0
    for (let i = 0; i < 8; i++) all.publish([delta(megabyte)])
    await expect(reader.read().then(() => reader.read())).rejects.toThrow(/connection lost/)
  })

  it('is closed when the streams end, and so is a wait for the end of a run', async () => {
    const all = streams()
    const reading = read(all.open(renderServerSentEvent, [delta('a')], { runId: 'r1' }))
    const ended = all.ended({ runId: 'r2' })
    all.end()
    all.publish([delta('b'), end()])
    expect(await reading).toEqual(['a'])
    await ended
  })

  it('that does not read is let go, and the others get everything', async () => {
    const all = streams()
    const slow = all.open(renderServerSentEvent, [], { runId: 'r1' })
    const reading = read(all.open(renderServerSentEvent, [], { runId: 'r1' }))
    for (let i = 0; i < 8; i++) {
      all.publish([delta(megabyte)])
      await scheduler.wait(5)
    }
    all.publish([end()])
    expect((await reading).length).toBe(9)
    await expect(new Response(slow).text()).rejects.toThrow(/connection lost/)
  })

  it('that has disconnected is removed at the next event', async () => {
    const all = streams()
    let rendered = 0
    const stream = all.open(
      (event) => {
        rendered++
        return renderServerSentEvent(event)
      },
      [],
      { runId: 'r1' },
    )
    await stream.cancel()
    all.publish([delta('a')])
    await scheduler.wait(1)
    for (let i = 0; i < 3; i++) all.publish([delta('b')])
    expect(rendered).toBe(1)
  })
})

describe('waiting for the end of a run', () => {
  it('is over with that run and no other', async () => {
    const all = streams()
    let isOver = false
    const ended = all.ended({ runId: 'r1' }).then(() => (isOver = true))
    all.publish([end('r2')])
    await scheduler.wait(1)
    expect(isOver).toBe(false)
    all.publish([end('r1')])
    expect(await ended).toBe(true)
  })
})

describe('server-sent events of a session', () => {
  async function bridge(past?: { readonly pages: readonly EventPage[]; readonly isGone?: boolean }) {
    const { 0: client, 1: server } = new WebSocketPair()
    server.accept()
    const stop = new AbortController()
    const asked: number[] = []
    let from: number | undefined
    const source = {
      page: async (after: number) => {
        asked.push(after)
        return past?.pages[asked.length - 1]
      },
      socket: async (after?: number) => {
        from = after
        return past?.isGone ? undefined : client
      },
    }
    const response = await streamEvents(source, past && 0, stop.signal)
    let closed: number | undefined
    server.addEventListener('close', ({ code }) => void (closed = code))
    return {
      server,
      stop,
      response: response as Response,
      asked,
      from: () => from,
      isClosed: () => closed !== undefined,
    }
  }
  const json = (event: SessionEvent) => JSON.stringify(event)
  const page = (through: number, text: string, isLast = false): EventPage => ({ text, through, isLast })

  it('say at once that they are connected, then each event with its number', async () => {
    const { server, response } = await bridge()
    const event = delta('a')
    server.send(json(event))
    server.close(1000)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await response.text()).toBe(
      `: connected\n\nid: ${event.seq}\nevent: message.delta\ndata: ${json(event)}\n\n`,
    )
  })

  it('close the socket when the reader goes', async () => {
    const { server, stop, response, isClosed } = await bridge()
    server.send(json(delta('a')))
    const reading = response.text()
    await scheduler.wait(5)
    stop.abort()
    await reading
    expect(await until(isClosed)).toBe(true)
  })

  it('let a reader go that does not read', async () => {
    const { server, response, isClosed } = await bridge()
    for (let i = 0; i < 8; i++) server.send(json(delta(megabyte)))
    await until(isClosed)
    await expect(response.text()).rejects.toThrow(/too slow/)
  })

  it('begin with past events at the speed of the reader, and continue with new ones', async () => {
    const pages = Array.from({ length: 10 }, (_, n) => page(n + 1, `${n}${megabyte}`, n === 9))
    const { server, response, asked, from } = await bridge({ pages })
    await scheduler.wait(20)
    expect(asked.length).toBeLessThan(3)
    const event = delta('a')
    server.send(json(event))
    server.close(1000)
    expect(await response.text()).toBe(
      `: connected\n\n${pages.map(({ text }) => text).join('')}id: ${event.seq}\nevent: message.delta\ndata: ${json(event)}\n\n`,
    )
    expect(asked).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(from()).toBe(10)
  })

  it.each([
    ['between two pages', [page(1, 'one')]],
    ['behind the last one', [page(1, 'one', true)]],
  ])('end when the session goes %s', async (_when, pages) => {
    const { response } = await bridge({ pages, isGone: true })
    expect(await response.text()).toBe(': connected\n\none')
  })

  it('are none where there is no session', async () => {
    expect((await bridge({ pages: [] })).response).toBeUndefined()
    expect((await bridge({ pages: [], isGone: true })).response).toBeUndefined()
  })
})

describe('events in quick succession', () => {
  const render = (event: SessionEvent) =>
    event.type === 'tool.started' ? `${event.tool} ` : event.type === 'message.delta' ? `${event.delta} ` : '.'

  it('are written together, at the latest with the next word or the end', async () => {
    const all = streams()
    const pieces = readPieces(all.open(render, [], { runId: 'r1' }))
    for (const name of ['a', 'b', 'c']) all.publish([started(name)])
    all.publish([delta('word')])
    all.publish([delta('another')])
    all.publish([started('d')])
    all.publish([end()])
    expect(await pieces).toEqual(['a b c word ', 'another ', 'd .'])
  })

  it('are written without a next event', async () => {
    const all = streams()
    const reader = all.open(render, [], { runId: 'r1' }).getReader()
    for (const name of ['a', 'b']) all.publish([started(name)])
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toBe('a b ')
    all.end()
  })

  it('are written at once when they are many', async () => {
    const all = streams()
    const reader = all.open(render, [], { runId: 'r1' }).getReader()
    all.publish([started(megabyte), started('a')])
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).not.toContain('a')
    all.end()
  })

  it('are not written after the reader has left', async () => {
    const all = streams()
    const reader = all.open(render, [], { runId: 'r1' }).getReader()
    all.publish([started('a')])
    await reader.cancel()
    await until(() => !all.isOpen)
    all.publish([started('b')])
    expect(all.isOpen).toBe(false)
  })
})
