/** Decides which toolsets and tools the settings leave out, and what a switch has to change. */

export type ToolSettings = { readonly enabled?: readonly string[]; readonly disabled?: readonly string[] }

/** Whether a toolset or a tool of it is offered, and whether a switch can change that. */
export type SwitchState = 'on' | 'off' | 'off-by-default'

type Named = {
  readonly name: string
  readonly toolset: string
  readonly available: boolean
  readonly isLeftOut: boolean
}

export function stateOf({ name, toolset, isLeftOut }: Named, { disabled = [], enabled }: ToolSettings): SwitchState {
  if (!isLeftOut) return 'on'
  if (disabled.includes(name) || disabled.includes(toolset) || enabled !== undefined) return 'off'
  return 'off-by-default'
}

/** A list that names nothing any more is removed, because an empty one leaves out everything or nothing. */
const orNull = (names: readonly string[]): readonly string[] | null => (names.length ? names : null)

/** Switches off one toolset or tool. */
export const switchOff = (name: string, { disabled = [] }: ToolSettings) => ({
  toolsets: { disabled: [...disabled.filter((one) => one !== name), name] },
})

/**
 * Switches on one toolset or tool. Names that would still leave it out go: of a tool its toolset, which is replaced by
 * its other tools.
 */
export function switchOn(
  { name, toolset, members }: { readonly name: string; readonly toolset: string; readonly members: readonly string[] },
  { enabled, disabled = [] }: ToolSettings,
) {
  const isTool = name !== toolset
  const others = isTool && disabled.includes(toolset) ? members.filter((one) => one !== name) : []
  const gone = new Set(isTool ? [name, toolset] : [toolset, ...members])
  const rest = [...disabled.filter((one) => !gone.has(one)), ...others]
  const isNamed = enabled === undefined || enabled.includes(name) || enabled.includes(toolset)
  return {
    toolsets: { disabled: orNull(rest), ...(!isNamed && enabled !== undefined && { enabled: [...enabled, name] }) },
  }
}
