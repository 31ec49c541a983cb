// Truncates one output stream of a command. The first half of the limit is emitted at once. Of the rest only the end is
// kept, and emitted when the stream has ended, after an event with the missing bytes and lines.

import { StringDecoder } from 'node:string_decoder'

export function truncateOutput(name, max, emit) {
  const decoder = new StringDecoder('utf8')
  const maxHeadBytes = Math.ceil(max / 2)
  const maxTailBytes = max - maxHeadBytes
  let headBytes = 0
  let tail = []
  let tailBytes = 0
  let dropped = 0
  let droppedLines = 0

  const emitText = (text) => text !== '' && emit({ t: name, d: text })

  function write(chunk) {
    const room = maxHeadBytes - headBytes
    const head = chunk.subarray(0, Math.max(0, room))
    headBytes += head.length
    if (head.length) emitText(decoder.write(head))
    if (head.length < chunk.length) addToTail(chunk.subarray(head.length))
  }

  function addToTail(chunk) {
    tail.push(chunk)
    tailBytes += chunk.length
    if (tail.length > 1 && tailBytes - tail[0].length >= maxTailBytes) {
      drop(tail[0])
      tailBytes -= tail[0].length
      tail.shift()
    }
    // Many small chunks are joined, so that the list stays short.
    if (tail.length > 1_000) tail = [Buffer.concat(tail)]
  }

  function drop(chunk) {
    dropped += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) droppedLines++
  }

  function end() {
    let rest = Buffer.concat(tail)
    if (rest.length > maxTailBytes) {
      drop(rest.subarray(0, rest.length - maxTailBytes))
      rest = rest.subarray(rest.length - maxTailBytes)
    }
    // A partial character at the end of the head is emitted as it is; the tail starts with a complete one.
    if (dropped > 0) {
      emitText(decoder.end())
      while (rest.length && (rest[0] & 0xc0) === 0x80) {
        drop(rest.subarray(0, 1))
        rest = rest.subarray(1)
      }
      emit({ t: 'gap', s: name, bytes: dropped, lines: droppedLines })
    }
    emitText(decoder.write(rest) + decoder.end())
    return dropped
  }

  return { write, end }
}
