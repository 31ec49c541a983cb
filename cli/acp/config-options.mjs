/** The settings of a session that an editor can change: model, effort and approvals. */

import { sessionPath } from '../client.mjs'
import { codes, RpcError } from './rpc.mjs'

/** Removes the session's own value, so that the tenant's holds. */
const inherited = 'default'

const effort = ['low', 'medium', 'high']
const approvals = ['manual', 'smart', 'off']

const options = {
  model: {
    name: 'Model',
    category: 'model',
    read: (settings) => settings.model?.default,
    write: (value) => ({ model: { default: value } }),
    list: async (client) => (await client.get('/v1/models')).data.map(({ id }) => id).filter((id) => id.includes('/')),
  },
  effort: {
    name: 'Effort',
    category: 'thought_level',
    read: (settings) => settings.model?.reasoning_effort,
    write: (value) => ({ model: { reasoning_effort: value } }),
    list: () => effort,
  },
  approvals: {
    name: 'Approvals',
    category: 'mode',
    read: (settings) => settings.approvals?.mode,
    write: (value) => ({ approvals: { mode: value } }),
    list: () => approvals,
  },
}

export async function listConfigOptions(client, session) {
  const { settings = {} } = await client.get(sessionPath(session))
  return Promise.all(
    Object.entries(options).map(async ([id, { name, category, read, list }]) => {
      const currentValue = read(settings) ?? inherited
      const values = new Set([inherited, ...(await list(client)), currentValue])
      const shown = [...values].map((value) => ({ value, name: value === inherited ? 'Default' : value }))
      return { id, name, category, type: 'select', currentValue, options: shown }
    }),
  )
}

/** The server decides what the key may change: a session may only tighten policy. */
export async function setConfigOption(client, { sessionId, configId, value }) {
  if (!Object.hasOwn(options, configId)) throw new RpcError(codes.params, `There is no option ${configId}.`)
  const settings = options[configId].write(value === inherited ? null : value)
  await client.call('PATCH', sessionPath(sessionId), { settings })
  return { configOptions: await listConfigOptions(client, sessionId) }
}
