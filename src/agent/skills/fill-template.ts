/** Fills the variables in the text of a skill, such as the folder of its files. */

export type TemplateValues = {
  /** The folder of the copied files in the workspace. Absent: they were not copied. */
  readonly folder?: string | undefined
  readonly sessionId: string
}

/** The names of Hermes stand beside ours, so that skills carry over. */
const prefixes = 'TALARIA|HERMES'
const variable = new RegExp(`\\$\\{(?:${prefixes})_(SKILL_DIR|SESSION_ID)\\}`, 'g')

/** A variable without a value stays as it is, so that the model sees what is missing. */
export const fillTemplate = (text: string, { folder, sessionId }: TemplateValues): string =>
  text.replace(variable, (whole, name: string) => (name === 'SESSION_ID' ? sessionId : (folder ?? whole)))
