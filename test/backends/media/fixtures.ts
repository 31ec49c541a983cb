/** Makes small media files whose first bytes are those of their formats. */

import { joinOgg } from '#backends/media/ogg.ts'

export const ascii = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array([...text].map((char) => char.charCodeAt(0)))

export const pngBytes = (mark = ''): Uint8Array<ArrayBuffer> => ascii(`\u0089PNG\r\n\u001a\n${mark}`)
export const mp3Bytes = (mark = ''): Uint8Array<ArrayBuffer> => ascii(`\u00ff\u00fb\u0090\u0000${mark}`)

export function wavBytes(samples: string, byteRate = 8): Uint8Array<ArrayBuffer> {
  const bytes = ascii(`RIFF....WAVEfmt \u0010\0\0\0\u0001\0\u0001\0....rate\u0001\0\u0008\0data....${samples}`)
  const view = new DataView(bytes.buffer)
  view.setUint32(4, bytes.length - 8, true)
  view.setUint32(28, byteRate, true)
  view.setUint32(40, samples.length, true)
  return bytes
}

/** A page with one packet. */
function oggPage(packet: string, { flags = 0, time = 0n, serial = 7, number = 0 }): Uint8Array<ArrayBuffer> {
  const bytes = ascii(
    `OggS\0${String.fromCharCode(flags)}${'\0'.repeat(20)}\u0001${String.fromCharCode(packet.length)}${packet}`,
  )
  const view = new DataView(bytes.buffer)
  view.setBigUint64(6, time, true)
  view.setUint32(14, serial, true)
  view.setUint32(18, number, true)
  return bytes
}

/** An Opus file with one page for each packet of sound, of 960 samples each. Its checksums are right. */
export function opusBytes(packets: readonly string[], serial = 7): Uint8Array<ArrayBuffer> {
  const pages = [
    oggPage('OpusHead', { flags: 2, serial }),
    oggPage('OpusTags', { serial, number: 1 }),
    ...packets.map((packet, at) =>
      oggPage(packet, {
        serial,
        number: at + 2,
        time: BigInt((at + 1) * 960),
        flags: at === packets.length - 1 ? 4 : 0,
      }),
    ),
  ]
  return joinOgg([new Uint8Array(pages.flatMap((page) => [...page]))])
}
