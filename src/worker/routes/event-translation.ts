/** Translates the stream of a run into that of another protocol, event by event. */

import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import { readEventData, textStream } from '#durable/platform/byte-stream.ts'

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
  return textStream(translate(body, translator))
}

/** No text may be empty. */
async function* translate(body: ReadableStream<Uint8Array>, translator: EventTranslator): AsyncGenerator<string> {
  yield translator.begin()
  for await (const data of readEventData(body)) {
    const event = parseJson(data)
    const text = await translator.render(isJsonObject(event) ? event : {})
    if (text) yield text
    if (translator.isOver?.()) return
  }
  const last = translator.end()
  if (last) yield last
}
