/** Plays, searches and keeps music by the Web API of Spotify, in the name of the account whose refresh token is stored. */

import * as z from 'zod'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { Risk, Tool } from '#agent/core/tool.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'
import { callApi, type Found, type Service } from './call-api.ts'
import { defineTool } from '../define-tool.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { definePlugin, type PluginHost } from './define-plugin.ts'

const toolset = 'spotify'
const accounts = 'https://accounts.spotify.com'
/** A token is replaced so long before it expires. */
const marginMs = 60_000

const setup =
  'Spotify is not set up: store CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN of an app of your account with POST /api/credentials {"provider": "spotify"}.'
const refused = 'Spotify refuses the token. Store a new refresh token.'
const service: Service = {
  name: 'Spotify',
  explained: {
    401: refused,
    403: 'Spotify refuses it: the account needs Premium, or the token lacks the scope.',
    404: 'Spotify finds no such thing, or no active device. Open Spotify on one, or choose it by spotify_devices.',
    429: 'Spotify allows no more requests for the moment.',
  },
}

type Call = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: object
}
type Ask = (call: Call, signal: AbortSignal) => Promise<Found>
type Token = { readonly text: string; readonly until: number }

const renderQuery = (query: Call['query'] = {}): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return given.length ? `?${new URLSearchParams(given)}` : ''
}

/** Requests of one tenant, with the token that they share. */
function createAsk(host: PluginHost): Ask {
  const { now } = host
  let kept: (Token & { readonly key: string }) | undefined
  const login = async (key: string, signal: AbortSignal): Promise<Token | { readonly error: string }> => {
    if (kept?.key === key && kept.until > now()) return kept
    const [id = '', secret = '', refresh = ''] = key.split(':')
    const { baseUrl, isReplaced } = host.deployment().vendor('spotify')
    const request = {
      url: `${isReplaced ? baseUrl : accounts}/api/token`,
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${id}:${secret}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refresh }).toString(),
      isTrusted: isReplaced,
      signal,
    } as const
    const answer = await host.request(request).catch(() => undefined)
    if (!answer) return { error: 'Spotify cannot be reached.' }
    const body = parseJson(answer.text)
    if (answer.status !== 200 || !isJsonObject(body)) return { error: refused }
    const until = now() + Number(body['expires_in'] ?? 0) * 1_000 - marginMs
    kept = { key, text: String(body['access_token']), until }
    return kept
  }
  return async ({ method = 'GET', path, query, body: json }, signal) => {
    const { keys, baseUrl, isReplaced: isTrusted } = host.deployment().vendor('spotify')
    const [key] = keys
    if (key?.split(':').length !== 3) return { error: setup }
    const token = await login(key, signal)
    if ('error' in token) return token
    const url = `${baseUrl}/v1/${path}${renderQuery(query)}`
    const { status, ...found } = await callApi(host, service, {
      url,
      method,
      token: token.text,
      json,
      isTrusted,
      signal,
    })
    if (status === 401) kept = undefined
    return found
  }
}

const itemsOf = (value: unknown): readonly JsonObject[] => {
  const items = isJsonObject(value) ? value['items'] : value
  return Array.isArray(items) ? items.filter(isJsonObject) : []
}
const fieldOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined)

/** A track, album, artist or playlist without pictures and markets. */
function show(item: unknown): JsonObject {
  const { uri, name, artists, album, owner, total_tracks: tracks } = isJsonObject(item) ? item : {}
  return {
    uri,
    name,
    ...(artists !== undefined && { artists: itemsOf(artists).map((artist) => artist['name']) }),
    ...(album !== undefined && { album: fieldOf(album, 'name') }),
    ...(owner !== undefined && { owner: fieldOf(owner, 'display_name') }),
    ...(tracks !== undefined && { tracks }),
  }
}

const done = (found: Found, render: (value: unknown) => JsonObject = () => ({ success: true })): ToolAnswer =>
  'error' in found ? fail(found.error) : render(found.value)

const list = (items: unknown, pick: (item: JsonObject) => unknown = (item) => item): JsonObject => ({
  items: itemsOf(items).map((item) => show(pick(item))),
})

const id = z.string().regex(/^[A-Za-z0-9]{1,64}$/, 'An id of Spotify.')
const deviceId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,100}$/)
  .optional()
const uri = z
  .string()
  .regex(/^spotify:(?:track|album|artist|playlist|episode|show):[A-Za-z0-9]{1,64}$/, 'Such as spotify:track:….')
const limit = z.int().min(1).max(50).optional()

const playback = z.object({
  action: z.enum(['state', 'play', 'pause', 'next', 'previous', 'seek', 'volume', 'shuffle', 'repeat']),
  uris: z.array(uri).max(100).optional().describe('For play: tracks, or one album, artist or playlist.'),
  position_ms: z.int().min(0).optional(),
  volume_percent: z.int().min(0).max(100).optional(),
  state: z.enum(['true', 'false', 'off', 'track', 'context']).optional().describe('For shuffle and repeat.'),
  device_id: deviceId,
})

type Playback = z.infer<typeof playback>

/** A context is one album, artist, playlist or show. */
function playBody({ uris = [], position_ms: at }: Playback): object {
  const [first] = uris
  const isContext = first !== undefined && !/^spotify:(?:track|episode):/.test(first)
  const what = first === undefined ? {} : isContext ? { context_uri: first } : { uris }
  return { ...what, ...(at !== undefined && { position_ms: at }) }
}

const playbackQueries: Readonly<Partial<Record<Playback['action'], (given: Playback) => Call['query']>>> = {
  seek: ({ position_ms: at = 0 }) => ({ position_ms: at }),
  volume: ({ volume_percent: volume = 50 }) => ({ volume_percent: volume }),
  shuffle: ({ state = 'true' }) => ({ state }),
  repeat: ({ state = 'off' }) => ({ state }),
}

function playbackCall(given: Playback): Call {
  const { action, device_id } = given
  if (action === 'state') return { path: 'me/player' }
  const method = action === 'next' || action === 'previous' ? 'POST' : 'PUT'
  const query = { ...playbackQueries[action]?.(given), device_id }
  return { method, path: `me/player/${action}`, query, ...(action === 'play' && { body: playBody(given) }) }
}

const describePlayback = (value: unknown): JsonObject => ({
  is_playing: fieldOf(value, 'is_playing') ?? false,
  progress_ms: fieldOf(value, 'progress_ms'),
  device: fieldOf(fieldOf(value, 'device'), 'name'),
  item: fieldOf(value, 'item') ? show(fieldOf(value, 'item')) : null,
})

/** Reading asks nobody; what others notice, or what changes the account, is judged as something that is sent. */
const judged = <Input extends { readonly action: string }>(reading: readonly string[]) => {
  const riskOf = ({ action }: Input) => (reading.includes(action) ? ('net' as const) : ('send' as const))
  return {
    toolset,
    effect: 'effect' as const,
    effectOf: ({ action }: Input) => (reading.includes(action) ? ('pure' as const) : ('effect' as const)),
    risk: riskOf,
    assess: (input: Input) => {
      const assessed = assessByRisk(riskOf(input), [input.action])
      return reading.includes(input.action)
        ? assessed
        : { ...assessed, rule: input.action, reasons: ['it changes what the account plays or keeps'] }
    },
    touches: ({ action }: Input) => (reading.includes(action) ? ('nothing' as const) : [toolset]),
  }
}

const playlists = z.object({
  action: z.enum(['list', 'get', 'create', 'add', 'remove']),
  playlist_id: id.optional(),
  name: z.string().min(1).max(100).optional(),
  uris: z.array(uri).max(100).optional(),
  limit,
})

async function callPlaylists(ask: Ask, given: z.infer<typeof playlists>, signal: AbortSignal): Promise<ToolAnswer> {
  const { action, playlist_id: playlist, name, uris = [], limit: count } = given
  if (action === 'list') return done(await ask({ path: 'me/playlists', query: { limit: count } }, signal), list)
  if (action === 'create') {
    if (name === undefined) return fail('Name the new playlist.')
    return done(await ask({ method: 'POST', path: 'me/playlists', body: { name, public: false } }, signal), show)
  }
  if (playlist === undefined) return fail('playlist_id is missing. Action "list" shows the playlists.')
  const path = `playlists/${playlist}/tracks`
  if (action === 'get')
    return done(await ask({ path, query: { limit: count } }, signal), (value) => list(value, (item) => item['track']))
  if (!uris.length) return fail('uris is empty.')
  const isAdd = action === 'add'
  const body = isAdd ? { uris } : { tracks: uris.map((one) => ({ uri: one })) }
  return done(await ask({ method: isAdd ? 'POST' : 'DELETE', path, body }, signal))
}

const library = z.object({
  action: z.enum(['tracks', 'albums', 'save', 'remove']),
  ids: z.array(id).max(50).optional().describe('Of tracks, for save and remove.'),
  limit,
})

async function callLibrary(ask: Ask, { action, ids = [], limit: count }: z.infer<typeof library>, signal: AbortSignal) {
  if (action === 'tracks' || action === 'albums') {
    const field = action === 'tracks' ? 'track' : 'album'
    const found = await ask({ path: `me/${action}`, query: { limit: count } }, signal)
    return done(found, (value) => list(value, (item) => item[field]))
  }
  if (!ids.length) return fail('ids is empty.')
  return done(await ask({ method: action === 'save' ? 'PUT' : 'DELETE', path: 'me/tracks', body: { ids } }, signal))
}

const kinds = ['track', 'album', 'artist', 'playlist'] as const

const readTool = { toolset, effect: 'pure', risk: (): Risk => 'net', touches: () => 'nothing' as const } as const

const createPlayerTools = (ask: Ask): readonly Tool[] => [
  defineTool({
    ...judged<z.infer<typeof playback>>(['state']),
    name: 'spotify_playback',
    description: 'What Spotify plays, and its controls.',
    input: playback,
    run: async (given, { signal }) =>
      done(await ask(playbackCall(given), signal), given.action === 'state' ? describePlayback : undefined),
  }),
  defineTool({
    ...judged<{ action: 'list' | 'transfer'; device_id?: string | undefined }>(['list']),
    name: 'spotify_devices',
    description: 'The devices of the account, and which one plays.',
    input: z.object({ action: z.enum(['list', 'transfer']), device_id: deviceId }),
    run: async ({ action, device_id: device }, { signal }) => {
      if (action === 'list')
        return done(await ask({ path: 'me/player/devices' }, signal), (value) => ({
          devices: fieldOf(value, 'devices'),
        }))
      if (device === undefined) return fail('device_id is missing. Action "list" shows the devices.')
      return done(await ask({ method: 'PUT', path: 'me/player', body: { device_ids: [device] } }, signal))
    },
  }),
  defineTool({
    ...judged<{ action: 'get' | 'add'; uri?: string | undefined; device_id?: string | undefined }>(['get']),
    name: 'spotify_queue',
    description: 'What comes next, and adding to it.',
    input: z.object({ action: z.enum(['get', 'add']), uri: uri.optional(), device_id: deviceId }),
    run: async ({ action, uri: one, device_id }, { signal }) => {
      if (action === 'get')
        return done(await ask({ path: 'me/player/queue' }, signal), (value) => list(fieldOf(value, 'queue')))
      if (one === undefined) return fail('uri is missing. spotify_search finds one.')
      return done(await ask({ method: 'POST', path: 'me/player/queue', query: { uri: one, device_id } }, signal))
    },
  }),
]

const createCollectionTools = (ask: Ask): readonly Tool[] => [
  defineTool({
    ...readTool,
    name: 'spotify_search',
    description: 'Searches tracks, albums, artists and playlists of Spotify.',
    input: z.object({ query: z.string().min(1).max(300), type: z.enum(kinds).optional(), limit }),
    run: async ({ query, type = 'track', limit: count }, { signal }) =>
      done(await ask({ path: 'search', query: { q: query, type, limit: count } }, signal), (value) =>
        list(fieldOf(value, `${type}s`)),
      ),
  }),
  defineTool({
    ...judged<z.infer<typeof playlists>>(['list', 'get']),
    name: 'spotify_playlists',
    description: 'Playlists of the account: lists, reads, creates (private) and changes them.',
    input: playlists,
    run: (given, { signal }) => callPlaylists(ask, given, signal),
  }),
  defineTool({
    ...readTool,
    name: 'spotify_albums',
    description: 'The tracks of an album.',
    input: z.object({ album_id: id, limit }),
    run: async ({ album_id: album, limit: count }, { signal }) =>
      done(await ask({ path: `albums/${album}/tracks`, query: { limit: count } }, signal), list),
  }),
  defineTool({
    ...judged<z.infer<typeof library>>(['tracks', 'albums']),
    name: 'spotify_library',
    description: 'The saved tracks and albums of the account, and saving tracks.',
    input: library,
    run: (given, { signal }) => callLibrary(ask, given, signal),
  }),
]

export default definePlugin({
  name: 'spotify',
  createTools: (host) => {
    const ask = createAsk(host)
    return [...createPlayerTools(ask), ...createCollectionTools(ask)]
  },
})
