/** Splits a stream of UTF-8 at its line ends. Empty lines are left out. */
export async function* readLines(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let open: string[] = []
  for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
    const [first = '', ...others] = text.split('\n')
    open.push(first)
    for (const next of others) {
      const line = open.join('')
      if (line) yield line
      open = [next]
    }
  }
  const last = open.join('')
  if (last) yield last
}
