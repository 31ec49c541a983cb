/**
 * Serves version 1 of the Agent Client Protocol: a session of the editor is a session of the server. The files are those
 * of the server's workspace; the editor's own files are read only where it embeds them.
 */

import { answerQuestion, decide, describeRule } from '../ask.mjs'
import { syncFiles } from '../commands/sync-files.mjs'
import { sessionPath } from '../client.mjs'
import { listConfigOptions, setConfigOption } from './config-options.mjs'
import { parseAnswer, renderForm } from './elicitation.mjs'
import { EditorServers } from './mcp-servers.mjs'
import { toMessage } from './prompt.mjs'
import { codes, Connection, RpcError } from './rpc.mjs'
import { callIdOf, describeCall, replayAll, updatesOf } from './updates.mjs'

const protocolVersion = 1
const ends = new Set(['run.completed', 'run.failed', 'run.cancelled'])
const commands = [
  { name: 'compress', description: 'Shorten the context', input: { hint: 'what to keep' } },
  { name: 'undo', description: 'Remove the last turn' },
  { name: 'retry', description: 'Repeat the last turn' },
  { name: 'help', description: 'List all commands' },
]

/** Resolves when the editor closes the input. `folder` is kept in step with the workspace before and after each prompt. */
export async function serveAcp(client, { input, output, folder }) {
  const server = new AcpServer(client, output, folder)
  // Editors end their agents by a signal. A second one ends at once.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    process.once(signal, () => void server.servers.remove().finally(() => process.exit(0)))
  await server.connection.listen(input)
  await server.servers.remove()
}

class AcpServer {
  #client
  servers
  /** Prompts that run, by session. */
  #running = new Map()
  #hasForms = false
  #folder

  constructor(client, output, folder) {
    this.#folder = folder
    this.#client = client
    this.servers = new EditorServers(client)
    this.connection = new Connection(output, {
      initialize: (params) => this.#initialize(params),
      authenticate: () => ({}),
      'session/new': (params) => this.#create(params),
      'session/load': (params) => this.#load(params, true),
      'session/resume': (params) => this.#load(params, false),
      'session/list': (params) => this.#list(params),
      'session/delete': (params) => this.#delete(params),
      'session/close': (params) => this.#close(params),
      'session/set_config_option': (params) => setConfigOption(client, params),
      'session/prompt': (params) => this.#prompt(params),
      'session/cancel': (params) => this.#cancel(params),
    })
  }

  #initialize({ clientCapabilities }) {
    this.#hasForms = Boolean(clientCapabilities?.elicitation?.form)
    return {
      protocolVersion,
      agentInfo: { name: 'talaria', title: 'Talaria', version: '0.1.0' },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, delete: {}, close: {} },
      },
      authMethods: [],
    }
  }

  async #create({ mcpServers }) {
    const { body } = await this.#call('POST', '/api/sessions', { source: 'acp' })
    await this.#connect(body.id, mcpServers)
    this.#announceCommands(body.id)
    return { sessionId: body.id, configOptions: await listConfigOptions(this.#client, body.id) }
  }

  async #load({ sessionId, mcpServers }, isReplayed) {
    await this.#get(sessionPath(sessionId))
    if (isReplayed) await this.#replay(sessionId)
    await this.#connect(sessionId, mcpServers)
    this.#announceCommands(sessionId)
    return { configOptions: await listConfigOptions(this.#client, sessionId) }
  }

  async #connect(sessionId, servers) {
    const lines = await this.servers.add(sessionId, servers)
    if (lines.length) this.#say(sessionId, `${lines.join('\n')}\n`)
  }

  async #delete({ sessionId }) {
    await this.servers.remove(sessionId)
    return this.#call('DELETE', sessionPath(sessionId))
  }

  #say(sessionId, text) {
    this.#update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  }

  async #sync(sessionId) {
    if (this.#folder === undefined) return
    const { conflicts, failed } = await syncFiles(this.#client, sessionId, this.#folder)
    const lines = failed.map(({ path, error }) => `Not synchronised: ${path}: ${error}`)
    if (conflicts.length) lines.unshift(`Changed here and in the workspace, so left alone: ${conflicts.join(', ')}`)
    if (!lines.length) return
    this.#say(sessionId, `\n\n${lines.join('\n')}\n`)
  }

  /** Stops what the editor has started. The session stays on the server. */
  async #close({ sessionId }) {
    if (this.#running.has(sessionId)) await this.#cancel({ sessionId })
    await this.servers.remove(sessionId)
  }

  async #replay(sessionId) {
    const state = { step: 0 }
    for (let after = '0'; after !== null;) {
      const page = await this.#get(sessionPath(sessionId, `/messages?limit=200&after=${after}&preview=20000`))
      for (const update of replayAll(page.data, state)) this.#update(sessionId, update)
      after = page.newer_cursor
    }
  }

  async #list({ cursor, cwd }) {
    const query = new URLSearchParams({ limit: '50', ...(cursor && { cursor }) })
    const page = await this.#get(`/api/sessions?${query}`)
    const sessions = page.data.map(({ id, title, updated_at: updatedAt }) => ({
      sessionId: id,
      cwd: cwd ?? '/',
      title,
      updatedAt,
    }))
    return { sessions, nextCursor: page.next_cursor }
  }

  async #prompt({ sessionId, prompt }) {
    if (!Array.isArray(prompt)) throw new RpcError(codes.params, 'prompt must be a list of blocks.')
    if (this.#running.has(sessionId)) throw new RpcError(codes.invalid, 'A prompt runs in this session already.')
    const running = { isCancelled: false, controller: new AbortController() }
    this.#running.set(sessionId, running)
    try {
      await this.#sync(sessionId)
      const stopReason = await this.#run(sessionId, toMessage(prompt), running)
      await this.#sync(sessionId)
      return { stopReason }
    } finally {
      this.#running.delete(sessionId)
      running.controller.abort()
    }
  }

  async #run(session, message, running) {
    const { event_seq: after } = await this.#get(sessionPath(session))
    const { body } = await this.#call('POST', sessionPath(session, '/chat'), { ...message, wait: false })
    if (running.isCancelled) await this.#stop(session)
    for await (const event of this.#client.events(session, after, running.controller.signal)) {
      if (event.run_id !== body.run_id) continue
      for (const update of updatesOf(event)) this.#update(session, update)
      // The stream is read on while the person decides: the answer may come from elsewhere.
      if (event.type === 'approval.request') void this.#askPermission(session, event)
      if (event.type === 'question.request') {
        if (!this.#hasForms) return this.#leaveQuestion(session, event)
        void this.#elicit(session, event, running)
      }
      if (ends.has(event.type)) return this.#end(session, event)
    }
    return running.isLeft ? 'end_turn' : 'cancelled'
  }

  async #end(session, { type, exit_reason: reason, error }) {
    if (type === 'run.cancelled') return 'cancelled'
    if (type === 'run.failed') throw new RpcError(codes.internal, error ?? reason)
    await this.#announceUsage(session)
    if (/budget|max_turns|limit/.test(reason)) return 'max_turn_requests'
    return 'end_turn'
  }

  /** The stream is read on while the person fills the form: the answer may come from elsewhere. */
  async #elicit(session, event, running) {
    try {
      const answer = parseAnswer(await this.connection.request('elicitation/create', renderForm(session, event)))
      if (answer !== undefined) return await answerQuestion(this.#client, event.question_id, answer)
      this.#leaveQuestion(session, event)
      running.isLeft = true
      running.controller.abort()
    } catch (error) {
      if (error?.status !== 409) process.stderr.write(`${error?.message ?? error}\n`)
    }
  }

  /** The next prompt is the answer. */
  #leaveQuestion(session, { question, choices = [] }) {
    const list = choices.map((choice, at) => `\n${at + 1}. ${choice}`).join('')
    this.#update(session, {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: `\n\n${question}${list}\n` },
    })
    return 'end_turn'
  }

  async #askPermission(session, event) {
    const options = optionsOf(event)
    const toolCall = { toolCallId: callIdOf(event), status: 'pending', ...describeCall(event.tool, event.input) }
    try {
      const { outcome } = await this.connection.request('session/request_permission', {
        sessionId: session,
        toolCall,
        options,
      })
      const decision = outcome?.outcome === 'selected' ? outcome.optionId : 'deny'
      await decide(this.#client, event.approval_id, decision)
    } catch (error) {
      // Somebody else may have decided first.
      if (error?.status !== 409) process.stderr.write(`${error?.message ?? error}\n`)
    }
  }

  async #cancel({ sessionId }) {
    const running = this.#running.get(sessionId)
    if (running) running.isCancelled = true
    await this.#stop(sessionId)
  }

  #stop(session) {
    return this.#call('POST', sessionPath(session, '/stop'), {})
  }

  #announceCommands(session) {
    this.#update(session, { sessionUpdate: 'available_commands_update', availableCommands: commands })
  }

  async #announceUsage(session) {
    const { context, title, usage } = await this.#get(sessionPath(session)).catch(() => ({}))
    const cost = typeof usage?.cost_usd === 'number' ? { cost: { amount: usage.cost_usd, currency: 'USD' } } : {}
    if (context)
      this.#update(session, { sessionUpdate: 'usage_update', used: context.tokens, size: context.window, ...cost })
    if (title) this.#update(session, { sessionUpdate: 'session_info_update', title })
  }

  #update(sessionId, update) {
    this.connection.notify('session/update', { sessionId, update })
  }

  #get = (path) => this.#client.get(path)
  #call = (method, path, body) => this.#client.call(method, path, body)
}

const names = {
  once: ['Allow once', 'allow_once'],
  session: ['Allow for this session', 'allow_always'],
  always: ['Always allow', 'allow_always'],
  deny: ['Deny', 'reject_once'],
}

const optionsOf = ({ tool, choices, rule }) =>
  choices.flatMap((choice) => {
    const [name, kind] = names[choice] ?? []
    if (!name) return []
    const scope = kind === 'allow_always' && rule !== undefined ? `: ${describeRule(tool, rule)}` : ''
    return [{ optionId: choice, name: `${name}${scope}`, kind }]
  })
