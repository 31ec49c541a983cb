/** Parses server-sent events. */

/** Yields the data of each event. An `error` event ends the stream. */
export async function* readEvents(body) {
  const decoder = new TextDecoder()
  let open = ''
  for await (const bytes of body) {
    open += decoder.decode(bytes, { stream: true })
    const frames = open.split('\n\n')
    open = frames.pop() ?? ''
    for (const frame of frames) {
      const event = parseFrame(frame)
      if (event) yield event
    }
  }
}

function parseFrame(frame) {
  const lines = frame.split('\n').filter((line) => line.startsWith('data: '))
  return lines.length ? JSON.parse(lines.map((line) => line.slice(6)).join('\n')) : undefined
}
