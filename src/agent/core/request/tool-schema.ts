/** Defines tools as models see them, and which of them a request offers and requires. */

export type ToolSchema = {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  /** The provider guarantees that arguments match the schema, where it can. */
  readonly strict?: boolean
  /** The tool finds tools that the request does not have. A function, because the schema is counted and sent as JSON. */
  readonly search?: () => ToolSearch
}

/** For APIs that load a tool when the result of a search refers to it. */
export type ToolSearch = {
  readonly tools: ReadonlyMap<string, Omit<ToolSchema, 'search'>>
  /** Describes the searching tool to a model of such an API. */
  readonly description: string
  /** Tools of the request that such a model does not need. */
  readonly replaced: ReadonlySet<string>
}

/** `required`: some tool has to be called. An object: the tool of this name. Absent: the model decides. */
export type ToolChoice = 'none' | 'required' | { readonly name: string }

type ToolOffer = { readonly clientTools?: readonly ToolSchema[]; readonly toolChoice?: ToolChoice }

/** Lists the tools that the caller of the run offers and runs itself, unless it forbids to call them. */
export const offeredTools = ({ clientTools = [], toolChoice }: ToolOffer): readonly ToolSchema[] =>
  toolChoice === 'none' ? [] : clientTools

/** The caller has tools and forbids to call any: then it wants text, and no tool of ours either. */
export const forbidsTools = ({ clientTools = [], toolChoice }: ToolOffer): boolean =>
  toolChoice === 'none' && clientTools.length > 0

export const isClientTool = (offer: ToolOffer, name: string): boolean =>
  offeredTools(offer).some((tool) => tool.name === name)
