/** The scripted models of Talaria, for tests of agents: they answer as a list, as any text, or as a broken provider. */

export { type Entry, type ModelServer, startModelServer } from '../support/model-server/server.ts'
export { obedient, replay, replayFor, type Reply, type Script, type ScriptRequest } from './scripts.ts'
export { type DialectAnswer, type DialectRequest, type Fault, startDialectServer } from './dialect-server.ts'
