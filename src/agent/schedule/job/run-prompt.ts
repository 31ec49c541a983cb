/** Renders the first message of a run: material of scripts, monitors and other jobs, then the prompt. */

export const maxContextChars = 8_000
const maxScriptChars = 40_000

export type Material = {
  readonly skills: readonly { readonly name: string; readonly text?: string }[]
  readonly contexts: readonly { readonly job: string; readonly output?: string }[]
  readonly scriptOutput?: string
  readonly monitor?: { readonly source: string; readonly diff?: string; readonly text: string }
}

/** Marks text as material of strangers. */
export type FenceText = (text: string, source: string) => string

/** Joins the system prompt of each run. */
export const jobInstructions = [
  'This turn was started by a schedule. No person reads it while it runs, so nobody can answer questions.',
  'Your final answer is delivered as it is. Write only what the reader needs.',
  'If there is nothing to report, answer with [SILENT] alone.',
].join(' ')

export function renderRunPrompt(prompt: string, material: Material, fence: FenceText): string {
  const { skills, contexts, scriptOutput, monitor } = material
  return [
    ...skills.map(({ name, text }) => text ?? `[The skill "${name}" does not exist any more and was left out.]`),
    ...contexts.map(({ job, output }) =>
      output === undefined
        ? `[The job "${job}" has no output yet.]`
        : `The last output of the job "${job}":\n${fence(cutEnd(output, maxContextChars), `job ${job}`)}`,
    ),
    ...(scriptOutput === undefined
      ? []
      : [`The script printed:\n${fence(cutEnd(scriptOutput, maxScriptChars), 'script')}`]),
    ...(monitor ? [renderMonitor(monitor, fence)] : []),
    ...(prompt === '' ? [] : [prompt]),
  ].join('\n\n')
}

function renderMonitor({ source, diff, text }: NonNullable<Material['monitor']>, fence: FenceText): string {
  return diff === undefined
    ? `The first look at ${source}:\n${fence(cutEnd(text, maxContextChars), source)}`
    : `${source} has changed:\n${fence(diff, source)}`
}

const cutEnd = (text: string, max: number): string => {
  const mark = '\n… (shortened)'
  return text.length <= max ? text : `${text.slice(0, max - mark.length)}${mark}`
}
