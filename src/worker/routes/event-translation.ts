/** Translates the stream of a run into that of another protocol, event by event. */

import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'

/** Renders texts of the other protocol. */
export type EventTranslator = {
  readonly begin: () => string
  readonly render: (event: JsonObject) => string | Promise<string>
  /** The stream has ended. */
  readonly end: () => string
  /** The rest of the stream is not wanted. */
  readonly isOver?: () => boolean
}

export function translateStream(
  body: ReadableStream<Uint8Array> | null,
  translator: EventTranslator,
): ReadableStream<Uint8Array> {
  if (!body) throw new Error('The stream of a run has a body.')
  const encoder = new TextEncoder()
  let rest = ''
  const stream = new TransformStream<string, Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(translator.begin())),
    transform: async (chunk, controller) => {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop() ?? ''
      let text = ''
      for (const block of blocks) text += await translator.render(readEvent(block))
      if (text) controller.enqueue(encoder.encode(text))
      if (translator.isOver?.()) controller.terminate()
    },
    flush: (controller) => controller.enqueue(encoder.encode(translator.end())),
  })
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(stream)
}

/** Comments that keep the connection open have no data. */
function readEvent(block: string): JsonObject {
  const line = block.split('\n').find((one) => one.startsWith('data:'))
  const value = line === undefined ? undefined : parseJson(line.slice('data:'.length))
  return isJsonObject(value) ? value : {}
}
