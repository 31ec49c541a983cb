/** Translates the stream of a run into that of another protocol, event by event. */

import { type AgUiEvent, AgUiRenderer, renderAgUiEvent } from '#agent/public-api/ag-ui.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'

export function translateStream(
  body: ReadableStream<Uint8Array> | null,
  names: ConstructorParameters<typeof AgUiRenderer>[0],
): ReadableStream<Uint8Array> {
  const renderer = new AgUiRenderer(names)
  const encoder = new TextEncoder()
  const encode = (events: readonly AgUiEvent[]): Uint8Array => encoder.encode(events.map(renderAgUiEvent).join(''))
  let rest = ''
  const translator = new TransformStream<string, Uint8Array>({
    start: (controller) => controller.enqueue(encode(renderer.begin())),
    transform: (chunk, controller) => {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop() ?? ''
      const events = blocks.flatMap((block) => renderer.render(readEvent(block)))
      if (events.length) controller.enqueue(encode(events))
    },
    flush: (controller) => controller.enqueue(encode(renderer.breakOff())),
  })
  if (!body) throw new Error('The stream of a run has a body.')
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(translator)
}

/** Comments that keep the connection open have no data. */
function readEvent(block: string) {
  const line = block.split('\n').find((one) => one.startsWith('data:'))
  const value = line === undefined ? undefined : parseJson(line.slice('data:'.length))
  return isJsonObject(value) ? value : {}
}
