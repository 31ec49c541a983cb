/** Names the shapes of the API that the page uses, from the OpenAPI document. */

import type { components } from './schema.d.ts'

type Schemas = components['schemas']

export type Usage = Schemas['Usage']
export type Me = Schemas['Me']
export type Scope = Me['key']['scopes'][number]
export type Session = Schemas['Session']
export type Project = Schemas['Project']
export type Message = Schemas['Message']
export type Part = Exclude<Message['content'], string | null>[number]
export type Approval = Schemas['Approval']
export type Decision = Approval['choices'][number]
export type Question = Schemas['Question']
export type McpServer = Schemas['McpServer']
export type McpTool = Schemas['McpTool']
export type ConnectedApp = Schemas['ConnectedApp']
/** Events of other types are ignored. */
export type SessionEvent = Schemas['SessionEvent']
