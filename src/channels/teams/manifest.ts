/** Builds the package of an app for Teams: a zip file with its manifest and two icons. */

import { commandTable } from '#agent/policy/slash-command/command-table.ts'
import { crc32 } from '#agent/core/crc32.ts'
import { concatBytes } from '../hmac.ts'

type AppManifest = { readonly botId: string; readonly name: string; readonly origin: string }

export async function buildTeamsPackage({ botId, name, origin }: AppManifest): Promise<Uint8Array<ArrayBuffer>> {
  const short = name.slice(0, 30)
  const scopes = ['personal', 'team', 'groupChat']
  const manifest = {
    $schema: 'https://developer.microsoft.com/json-schemas/teams/v1.17/MicrosoftTeams.schema.json',
    manifestVersion: '1.17',
    version: '1.0.0',
    id: botId,
    developer: { name: 'Talaria', websiteUrl: origin, privacyUrl: origin, termsOfUseUrl: origin },
    name: { short, full: name.slice(0, 100) },
    description: { short: 'An AI agent.', full: 'An AI agent that answers in chats and channels.' },
    icons: { color: 'color.png', outline: 'outline.png' },
    accentColor: '#1F6FEB',
    bots: [
      {
        botId,
        scopes,
        isNotificationOnly: false,
        supportsFiles: true,
        commandLists: [{ scopes, commands: listMenu() }],
      },
    ],
    validDomains: [new URL(origin).host],
  }
  return zip([
    ['manifest.json', new TextEncoder().encode(JSON.stringify(manifest, null, 2))],
    ['color.png', await drawSquare(192, [0x1f, 0x6f, 0xeb, 0xff], [0xff, 0xff, 0xff, 0xff])],
    ['outline.png', await drawSquare(32, [0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff])],
  ])
}

type Colour = readonly [number, number, number, number]

/** Teams shows at most ten commands. */
const shownCommands = new Set(['help', 'new', 'stop', 'status', 'model', 'sessions', 'retry', 'undo', 'usage', 'goal'])

const listMenu = () =>
  commandTable
    .filter(({ name }) => shownCommands.has(name))
    .map(({ name, description }) => ({ title: `/${name}`, description: description.slice(0, 128) }))

/** Draws a frame on a background as a PNG of 8-bit RGBA. */
async function drawSquare(size: number, background: Colour, frame: Colour): Promise<Uint8Array> {
  const [outer, inner] = [Math.floor(size / 4), Math.floor(size / 3)]
  const isWithin = (x: number, y: number, edge: number) => Math.min(x, y, size - 1 - x, size - 1 - y) >= edge
  const pixelAt = (x: number, y: number) => (isWithin(x, y, outer) && !isWithin(x, y, inner) ? frame : background)
  const row = (y: number) => [0, ...Array.from({ length: size }, (_, x) => pixelAt(x, y)).flat()]
  const rows = Array.from({ length: size }, (_, y) => row(y))
  const header = [...uint32(size), ...uint32(size), 8, 6, 0, 0, 0]
  const pixels = await compress(Uint8Array.from(rows.flat()))
  return Uint8Array.from([
    0x89,
    ...[...'PNG\r\n'].map((char) => char.charCodeAt(0)),
    0x1a,
    0x0a,
    ...pngChunk('IHDR', Uint8Array.from(header)),
    ...pngChunk('IDAT', pixels),
    ...pngChunk('IEND', new Uint8Array()),
  ])
}

async function compress(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const compressed = new Response(bytes).body?.pipeThrough(new CompressionStream('deflate'))
  return new Uint8Array(await new Response(compressed).arrayBuffer())
}

function pngChunk(type: string, data: Uint8Array): readonly number[] {
  const content = concatBytes(type, data)
  return [...uint32(data.length), ...content, ...uint32(crc32(content))]
}

const uint32 = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff)
const uint32Le = (value: number) => uint32(value).toReversed()
const uint16Le = (value: number) => [value & 0xff, (value >>> 8) & 0xff]

/** 1 January 1980, the first day that a zip file can name. */
const zipDate = [0, 0, 0x21, 0]

/** Stores files in a zip file without compression. */
function zip(files: readonly (readonly [string, Uint8Array])[]): Uint8Array<ArrayBuffer> {
  const body: number[] = []
  const directory: number[] = []
  for (const [name, bytes] of files) {
    const path = [...new TextEncoder().encode(name)]
    const size = uint32Le(bytes.length)
    const fields = [
      20,
      0,
      0,
      0,
      0,
      0,
      ...zipDate,
      ...uint32Le(crc32(bytes)),
      ...size,
      ...size,
      ...uint16Le(path.length),
      0,
      0,
    ]
    directory.push(0x50, 0x4b, 1, 2, 20, 0, ...fields, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...uint32Le(body.length), ...path)
    body.push(0x50, 0x4b, 3, 4, ...fields, ...path, ...bytes)
  }
  const count = uint16Le(files.length)
  const sizes = [...uint32Le(directory.length), ...uint32Le(body.length)]
  return Uint8Array.from([...body, ...directory, 0x50, 0x4b, 5, 6, 0, 0, 0, 0, ...count, ...count, ...sizes, 0, 0])
}
