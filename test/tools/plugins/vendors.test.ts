/** Tests the tools of Home Assistant and Spotify against local servers that answer with the bytes of their documentation. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Tool } from '#agent/core/tool.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import type { PluginHost } from '#tools/plugins/define-plugin.ts'
import homeassistant from '#tools/plugins/homeassistant.plugin.ts'
import spotify from '#tools/plugins/spotify.plugin.ts'
import { call } from '../support/call.ts'
import { startVendorServer, type VendorServer } from './vendor-server.mjs'

let vendor: VendorServer
let keys: readonly string[] = []
let now = 0

beforeAll(async () => void (vendor = await startVendorServer()))
afterAll(() => vendor.close())
beforeEach(() => {
  vendor.asked.length = 0
  for (const line of Object.keys(vendor.answers)) delete vendor.answers[line]
  now = 0
})

const answer = (given: VendorServer['answers']) => void Object.assign(vendor.answers, given)

const host: PluginHost = {
  deployment: () =>
    ({
      settings: {},
      vendor: (id: string) => ({ id, baseUrl: vendor.url, isReplaced: true, keys, paidBy: 'tenant', variable: '' }),
    }) as unknown as ToolDeployment,
  secret: async () => undefined,
  now: () => now,
  wait: async () => undefined,
  request: async ({ url: address, method = 'GET', headers = {}, body, signal }) => {
    const response = await fetch(address, { method, headers, signal, ...(body !== undefined && { body }) })
    return { status: response.status, text: await response.text() }
  },
  messages: {
    list: async () => [],
    call: async () => ({ error: 'none' }),
    send: async () => ({ kind: 'failed', error: 'none' }),
  },
}

const toolsOf = (tools: readonly Tool[]) => (name: string) => {
  const tool = tools.find((one) => one.name === name)
  if (!tool) throw new Error(`There is no tool ${name}.`)
  return tool
}

describe('Home Assistant', () => {
  const tool = toolsOf(homeassistant.createTools(host))
  // developers.home-assistant.io/docs/api/rest
  const states = JSON.stringify([
    { attributes: {}, entity_id: 'sun.sun', last_changed: '2016-05-30T21:43:32.418320+00:00', state: 'below_horizon' },
    {
      attributes: { friendly_name: 'Kitchen' },
      entity_id: 'light.kitchen',
      last_changed: '2016-05-30T21:43:32.418320+00:00',
      state: 'on',
    },
    { attributes: {}, entity_id: 'light.hall', last_changed: '2016-05-30T21:43:32.418320+00:00', state: 'off' },
  ])
  beforeEach(() => void (keys = ['the-token']))

  it('lists entities by domain and area', async () => {
    answer({ 'GET /api/states': [200, states], 'POST /api/template': [200, '["light.kitchen", "sun.sun"]'] })
    const all = await call(tool('ha_list_entities'), {})
    expect(all.result).toMatchObject({ count: 3 })
    const { result } = await call(tool('ha_list_entities'), { domain: 'light', area: 'Küche 1' })
    expect(result).toEqual({
      count: 1,
      entities: [{ entity_id: 'light.kitchen', state: 'on', friendly_name: 'Kitchen' }],
    })
    expect(vendor.asked.every(({ authorization }) => authorization === 'Bearer the-token')).toBe(true)
    expect(vendor.asked.at(-1)?.body).toBe('{"template":"{{ area_entities(\\"Küche 1\\") | to_json }}"}')
  })

  it('reads one state, and says when there is none', async () => {
    answer({
      'GET /api/states/light.kitchen': [
        200,
        '{"entity_id":"light.kitchen","state":"on","attributes":{"brightness":20}}',
      ],
    })
    expect((await call(tool('ha_get_state'), { entity_id: 'light.kitchen' })).result['state']).toMatchObject({
      attributes: { brightness: 20 },
    })
    const missing = await call(tool('ha_get_state'), { entity_id: 'light.none' })
    expect([missing.failed, missing.result['error']]).toEqual([true, 'Home Assistant knows no such entity or service.'])
  })

  it('lists services without those that run code', async () => {
    const services = [
      { domain: 'light', services: { turn_on: { description: 'On.', fields: { brightness: {} } } } },
      { domain: 'shell_command', services: { restart: {} } },
    ]
    answer({ 'GET /api/services': [200, JSON.stringify(services)] })
    expect((await call(tool('ha_list_services'), {})).result).toEqual({
      domains: [{ domain: 'light', services: ['turn_on'] }],
    })
    const { result } = await call(tool('ha_list_services'), { domain: 'light' })
    expect(result['domains']).toEqual([
      { domain: 'light', services: { turn_on: { description: 'On.', fields: ['brightness'] } } },
    ])
  })

  it('calls a service, which is judged as something that is sent', async () => {
    answer({
      'POST /api/services/light/turn_on': [200, '[{"entity_id":"light.kitchen","state":"on","attributes":{}}]'],
    })
    const input = { domain: 'light', service: 'turn_on', entity_id: 'light.kitchen', data: { brightness: 99 } }
    const { result } = await call(tool('ha_call_service'), input)
    expect(result).toMatchObject({ success: true, changed: [{ entity_id: 'light.kitchen', state: 'on' }] })
    expect(vendor.asked[0]?.body).toBe('{"brightness":99,"entity_id":"light.kitchen"}')
    expect(tool('ha_call_service').risk(input)).toBe('send')
    expect(await tool('ha_call_service').assess?.(input, {})).toMatchObject({
      verdict: 'ask',
      rule: 'light.turn_on light.kitchen',
    })
    expect(tool('ha_get_state').risk({ entity_id: 'light.kitchen' })).toBe('net')
  })

  it.each([
    ['ha_call_service', { domain: 'shell_command', service: 'restart' }],
    ['ha_call_service', { domain: 'light/../shell_command', service: 'x' }],
    ['ha_get_state', { entity_id: 'light.x/../../config' }],
    ['ha_list_entities', { area: 'x") }}{{ states("' }],
  ])('refuses %s with %j before any request', async (name, input) => {
    expect((await call(tool(name), input)).failed).toBe(true)
    expect(vendor.asked).toEqual([])
  })

  it.each([
    [401, 'refuses the access token'],
    [500, 'status 500: broken'],
  ])('explains status %d', async (status, text) => {
    answer({ 'GET /api/states': [status, 'broken'] })
    expect((await call(tool('ha_list_entities'), {})).result['error']).toContain(text)
  })

  it('says what is missing without a token', async () => {
    keys = []
    expect((await call(tool('ha_list_entities'), {})).result['error']).toContain('POST /api/credentials')
    expect(vendor.asked).toEqual([])
  })
})

describe('Spotify', () => {
  // developer.spotify.com/documentation/web-api
  const token = '{"access_token":"BQD1","token_type":"Bearer","expires_in":3600,"scope":"user-modify-playback-state"}'
  const track = {
    uri: 'spotify:track:4iV5W9uYEdYUVa79Axb7Rh',
    name: 'Song',
    artists: [{ name: 'Ann' }],
    album: { name: 'Album' },
  }
  let tool: (name: string) => Tool
  beforeEach(() => {
    keys = ['id:secret:refresh']
    tool = toolsOf(spotify.createTools(host))
    answer({ 'POST /api/token': [200, token] })
  })
  const lines = () => vendor.asked.map(({ line }) => line)

  it('gets a token once, and again before it expires or when it is refused', async () => {
    vendor.answers['GET /v1/me/player/devices'] = [200, '{"devices":[{"id":"d1","name":"Kitchen","is_active":true}]}']
    await call(tool('spotify_devices'), { action: 'list' })
    const { result } = await call(tool('spotify_devices'), { action: 'list' })
    expect(result['devices']).toMatchObject([{ name: 'Kitchen' }])
    expect(vendor.asked[0]).toEqual({
      line: 'POST /api/token',
      authorization: `Basic ${btoa('id:secret')}`,
      body: 'grant_type=refresh_token&refresh_token=refresh',
    })
    expect(vendor.asked[1]?.authorization).toBe('Bearer BQD1')
    expect(lines().filter((line) => line.includes('token'))).toHaveLength(1)
    now = 3_600_000
    vendor.answers['GET /v1/me/player/devices'] = [401, '{}']
    expect((await call(tool('spotify_devices'), { action: 'list' })).result['error']).toContain('refuses the token')
    await call(tool('spotify_devices'), { action: 'list' })
    expect(lines().filter((line) => line.includes('token'))).toHaveLength(3)
  })

  it.each<[string, Record<string, unknown>, string, string]>([
    ['spotify_playback', { action: 'play', uris: [track.uri] }, 'PUT /v1/me/player/play', `{"uris":["${track.uri}"]}`],
    [
      'spotify_playback',
      { action: 'play', uris: ['spotify:album:1'] },
      'PUT /v1/me/player/play',
      '{"context_uri":"spotify:album:1"}',
    ],
    ['spotify_playback', { action: 'pause', device_id: 'd1' }, 'PUT /v1/me/player/pause?device_id=d1', ''],
    ['spotify_playback', { action: 'next' }, 'POST /v1/me/player/next', ''],
    ['spotify_playback', { action: 'volume', volume_percent: 20 }, 'PUT /v1/me/player/volume?volume_percent=20', ''],
    ['spotify_playback', { action: 'shuffle' }, 'PUT /v1/me/player/shuffle?state=true', ''],
    ['spotify_devices', { action: 'transfer', device_id: 'd1' }, 'PUT /v1/me/player', '{"device_ids":["d1"]}'],
    [
      'spotify_queue',
      { action: 'add', uri: track.uri },
      `POST /v1/me/player/queue?uri=${encodeURIComponent(track.uri)}`,
      '',
    ],
    [
      'spotify_playlists',
      { action: 'create', name: 'Mine' },
      'POST /v1/me/playlists',
      '{"name":"Mine","public":false}',
    ],
    [
      'spotify_playlists',
      { action: 'add', playlist_id: 'p1', uris: [track.uri] },
      'POST /v1/playlists/p1/tracks',
      `{"uris":["${track.uri}"]}`,
    ],
    [
      'spotify_playlists',
      { action: 'remove', playlist_id: 'p1', uris: [track.uri] },
      'DELETE /v1/playlists/p1/tracks',
      `{"tracks":[{"uri":"${track.uri}"}]}`,
    ],
    ['spotify_library', { action: 'save', ids: ['4iV5'] }, 'PUT /v1/me/tracks', '{"ids":["4iV5"]}'],
  ])('%s %j sends the documented request, judged as something that is sent', async (name, input, line, body) => {
    vendor.answers[line] = [204, '']
    const { failed } = await call(tool(name), input)
    expect([failed, vendor.asked.at(-1)?.line, vendor.asked.at(-1)?.body]).toEqual([false, line, body])
    expect(tool(name).risk(input)).toBe('send')
    expect(await tool(name).assess?.(input, {})).toMatchObject({ verdict: 'ask' })
  })

  it.each<[string, Record<string, unknown>, string, unknown]>([
    [
      'spotify_search',
      { query: 'a b', type: 'track' },
      'GET /v1/search?q=a+b&type=track',
      { tracks: { items: [track] } },
    ],
    ['spotify_queue', { action: 'get' }, 'GET /v1/me/player/queue', { queue: [track] }],
    ['spotify_playlists', { action: 'get', playlist_id: 'p1' }, 'GET /v1/playlists/p1/tracks', { items: [{ track }] }],
    ['spotify_library', { action: 'tracks' }, 'GET /v1/me/tracks', { items: [{ track }] }],
    ['spotify_albums', { album_id: 'a1' }, 'GET /v1/albums/a1/tracks', { items: [track] }],
  ])('%s %j reads, and asks nobody', async (name, input, line, answer) => {
    vendor.answers[line] = [200, JSON.stringify(answer)]
    const { result } = await call(tool(name), input)
    expect(result).toEqual({ items: [{ uri: track.uri, name: 'Song', artists: ['Ann'], album: 'Album' }] })
    expect([vendor.asked.at(-1)?.line, tool(name).risk(input)]).toEqual([line, 'net'])
  })

  it('shows what plays, also nothing', async () => {
    vendor.answers['GET /v1/me/player'] = [204, '']
    expect((await call(tool('spotify_playback'), { action: 'state' })).result).toMatchObject({
      is_playing: false,
      item: null,
    })
    vendor.answers['GET /v1/me/player'] = [
      200,
      JSON.stringify({ is_playing: true, device: { name: 'Kitchen' }, item: track }),
    ]
    expect((await call(tool('spotify_playback'), { action: 'state' })).result).toMatchObject({
      is_playing: true,
      device: 'Kitchen',
      item: { name: 'Song' },
    })
  })

  it.each([
    [404, 'no active device'],
    [403, 'Premium'],
    [429, 'no more requests'],
  ])('explains status %d', async (status, text) => {
    vendor.answers['PUT /v1/me/player/pause'] = [status, '{}']
    expect((await call(tool('spotify_playback'), { action: 'pause' })).result['error']).toContain(text)
  })

  it('says what is missing, and sends nothing with a key of another form', async () => {
    keys = ['only-a-token']
    expect((await call(tool('spotify_search'), { query: 'a' })).result['error']).toContain(
      'CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN',
    )
    expect((await call(tool('spotify_queue'), { action: 'add', uri: 'https://evil.example.com/' })).failed).toBe(true)
    expect(vendor.asked).toEqual([])
  })
})
